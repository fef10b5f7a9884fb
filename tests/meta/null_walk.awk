# null_walk.awk null_walk.h HEADER...: from the prototypes of the public headers, a C function for each exported one,
# which calls it with any one of its pointers NULL, and a table of them. Other arguments are what the test's some_TYPE
# functions give; a struct that has none is zeroed, a number is 1.
function trim(s) {
    gsub(/^[ \t]+|[ \t]+$/, "", s)
    gsub(/[ \t]+/, " ", s)
    return s
}

# "const heed_model *m" -> type "const heed_model *", bare "heed_model", stars 1, what "m"; an array is a pointer.
function parse(argument) {
    stars = gsub(/\[[^]]*\]/, "", argument)
    what = argument
    sub(/.*[^a-zA-Z0-9_]/, "", what)
    type = substr(argument, 1, length(argument) - length(what))
    stars += gsub(/\*/, "*", type)
    bare = type
    gsub(/\*|const |struct /, "", bare)
    bare = trim(bare)
}

function value() {
    if (stars > 1) return "nothing(cx, 4096)"
    if (stars == 1 && bare in maker) return "some_" bare "(cx)"
    if (stars == 1) return bare in whole ? "nothing(cx, sizeof(" bare "))" : "NULL"
    if (bare in handle) return "handle_" bare "(cx)"
    return bare in whole ? "(" bare "){0}" : "1"
}

function prototype(text,   name, list, n, i, argument, arguments, names, pointers, v, call) {
    name = text
    sub(/\(.*/, "", name)
    sub(/.*[^a-z0-9_A-Z]/, "", name)
    list = substr(text, index(text, "(") + 1)
    sub(/\)( HEED_PRINTF.*)?$/, "", list)
    n = split(list, arguments, ",")
    if (list ~ /va_list/ || list == "void") return
    pointers = 0
    for (i = 1; i <= n; i++) {
        argument = trim(arguments[i])
        if (argument == "...") continue
        parse(argument)
        v = value()
        if (stars > 0 || bare in handle) {
            if (bare == "heed_ctx") v = "CONTEXT(" pointers ")"
            else v = "GIVEN(" pointers ") ? " v " : " (stars > 0 ? "NULL" : "(" bare "){0}")
            pointers++
            names = names (names == "" ? "" : " ") what
        }
        call = call (i > 1 ? ", " : "") v
    }
    if (!pointers) return
    print "static void walk_" name "(heed_ctx *cx, int without) { (void)" name "(" call "); }"
    table = table "    {\"" name "\", \"" names "\", walk_" name "},\n"
}

BEGIN { print "/* Made of the public headers by tests/meta/null_walk.awk. */" }

FNR == NR { # null_walk.h
    if (match($0, /(some|handle)_[a-z0-9_]+\(heed_ctx \*cx\) \{/)) {
        name = kind = substr($0, RSTART)
        sub(/_.*/, "", kind)
        sub(/^[a-z]*_/, "", name)
        sub(/\(.*/, "", name)
        if (kind == "handle") {
            handle[name]
            next
        }
        maker[name]
        print "static bool made_" name "(heed_ctx *cx) { return some_" name "(cx) && !heed_failed(cx); }"
        makers = makers "    {\"" name "\", made_" name "},\n"
    }
    next
}

/^#/ { next } # the headers hold no macro of more than one line that matters
{
    line = $0
    while (1) { # without comments
        if (comment) {
            if (!(at = index(line, "*/"))) { line = ""; break }
            line = substr(line, at + 2)
            comment = 0
        }
        if (!(at = index(line, "/*"))) break
        rest = substr(line, at + 2)
        if ((end = index(rest, "*/")))
            line = substr(line, 1, at - 1) substr(rest, end + 2)
        else {
            line = substr(line, 1, at - 1)
            comment = 1
            break
        }
    }
    if (line ~ /^typedef struct [a-z0-9_]+ \{/ || line ~ /^struct [a-z0-9_]+ \{/) {
        name = line
        sub(/^(typedef )?struct /, "", name)
        sub(/ .*/, "", name)
        whole[name]
    }
    if (line !~ /^HEED_API/ && text == "") next
    text = trim(text " " line)
    if (text !~ /;$/) next
    sub(/;$/, "", text)
    sub(/^HEED_API /, "", text)
    if (text ~ /\(/) held[++count] = text
    text = ""
}

END {
    delete whole["heed_op_call"] # exists only inside an op
    for (i = 1; i <= count; i++) prototype(held[i])
    print "static const struct maker makers[] = {\n" makers "};"
    print "static const struct call calls[] = {\n" table "};"
}
