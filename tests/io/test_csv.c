/* csv and tsv: quoting, headers, numbers, refusals; and the text helpers under them. */
#include "../comma_locale.h"
#include "io/text.h"
#include "io_test.h"

static heed_table *parse(heed_ctx *cx, const char *text, const heed_table_options *o) {
    return heed_table_parse(cx, "t.csv", text, strlen(text), o);
}

static void refused(heed_ctx *cx, const char *text, size_t size, const char *part, int line) {
    if (heed_table_parse(cx, "t.csv", text, size, NULL)) fail_msg("accepted: %s", text);
    expect_sentence(cx, part, __FILE__, line);
}
#define REFUSED(text, part) refused(cx, text, sizeof text - 1, part, __LINE__)

static void test_quoting(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_table *t =
        parse(cx, "\xEF\xBB\xBFname,\"say \"\"hi\"\"\",c\r\n\"a,b\",\"line\r\nbreak\",\"\"\r\n\"\"\"\",,3\n x ,y,z",
              &(heed_table_options){.header = HEED_HEADER_NO});
    const char *cells[3][3] = {{"a,b", "line\r\nbreak", ""}, {"\"", "", "3"}, {" x ", "y", "z"}};
    assert_int_equal(heed_table_columns(t), 3);
    assert_false(heed_table_has_header(t));
    assert_int_equal(heed_table_rows(t), 4);
    assert_string_equal(heed_table_cell(cx, t, 0, 1), "say \"hi\"");
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) assert_string_equal(heed_table_cell(cx, t, r + 1, c), cells[r][c]);
    assert_string_equal(heed_table_name(cx, t, 2), "3");
    assert_int_equal(heed_table_find(cx, t, "3"), 2);
    heed_table_close(t);
    close_context(cx);
}

static void test_header(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct {
        const char *text;
        heed_header header;
        bool found;
        int64_t rows;
    } cases[] = {
        {"a,b\n1,x\n2,y\n", HEED_HEADER_AUTO, true, 2},
        {"1,b\n1,x\n", HEED_HEADER_AUTO, false, 2},
        {"a,b\nc,d\n", HEED_HEADER_AUTO, false, 2},
        {"a,b\n", HEED_HEADER_AUTO, false, 1},
        {"a,b\nc,d\n", HEED_HEADER_YES, true, 1},
        {"a,b", HEED_HEADER_YES, true, 0},
        {"a,b\n1,2\n", HEED_HEADER_NO, false, 2},
        {"a,b\nc,NA\nd,1\n", HEED_HEADER_AUTO, true, 2},
        {"a,b\nx,y\nx,z\n", HEED_HEADER_AUTO, true, 2},
        {"x,b\nx,y\nz,w\n", HEED_HEADER_AUTO, false, 3},
        {"?,b\n1,y\n", HEED_HEADER_AUTO, false, 2},
        {",b\n1,2\n", HEED_HEADER_AUTO, true, 1},
        {",b\nx,y\nz,w\n", HEED_HEADER_AUTO, false, 3},
        /* pairs of texts, all different */
        {"text,b\nx,y\nz,w\n", HEED_HEADER_AUTO, false, 3},
        {"dog,b\ncat,Katze\nhorse,Pferd\n", HEED_HEADER_AUTO, false, 3},
        {"Reply,b\nwho is it that calls,it is me my dear\nwhere have you all been,we were out of town\n",
         HEED_HEADER_AUTO, true, 2},
        {"who is there,b\nwho is it that calls,me\nwhere have you all been,out\n", HEED_HEADER_AUTO, false, 3},
        {"who is it that asks,b\nwho is it that calls,me\nwhere have you all been,me\n", HEED_HEADER_AUTO, false, 3},
        {"capital of France,b\ncapital of Italy,Rome\nlegs of a spider,8\nlegs of a dog,four\n", HEED_HEADER_AUTO,
         false, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        heed_table *t = parse(cx, cases[i].text, &(heed_table_options){.header = cases[i].header});
        assert_int_equal(heed_table_has_header(t), cases[i].found);
        assert_int_equal(heed_table_rows(t), cases[i].rows);
        assert_int_equal(heed_table_columns(t), 2);
        assert_string_equal(heed_table_name(cx, t, 1), cases[i].found ? "b" : "2");
        assert_int_equal(heed_table_find(cx, t, "b"), cases[i].found ? 1 : -1);
        heed_table_close(t);
    }
    close_context(cx);
}

static void test_delimiters(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *names[] = {"x.tsv", "x.tab", "x.tsv.gz", "tsv"};
    for (int i = 0; i < 4; i++) {
        heed_table *t = heed_table_parse(cx, names[i], "a\tb,c", 5, NULL);
        assert_int_equal(heed_table_columns(t), 2);
        assert_string_equal(heed_table_cell(cx, t, 0, 0), "a");
        assert_int_equal(heed_table_delimiter(t), '\t');
        heed_table_close(t);
    }
    heed_table *t = parse(cx, "a;\"b;c\"\n1;2", &(heed_table_options){.delimiter = ';'});
    assert_string_equal(heed_table_cell(cx, t, 0, 1), "2");
    assert_string_equal(heed_table_name(cx, t, 1), "b;c");
    heed_table_close(t);
    /* Sentences, with quotes as they come. */
    t = heed_table_parse(cx, "s.tsv", "\"Go.\tVa \"!\nHi\tSalut\"", 20,
                         &(heed_table_options){.plain_quotes = true, .header = HEED_HEADER_NO});
    assert_string_equal(heed_table_cell(cx, t, 0, 0), "\"Go.");
    assert_string_equal(heed_table_cell(cx, t, 1, 1), "Salut\"");
    heed_table_close(t);
    const char wrong[] = {'"', '\n', '\r', '\x80'};
    for (int i = 0; i < 4; i++) {
        assert_null(parse(cx, "a", &(heed_table_options){.delimiter = wrong[i]}));
        EXPECT_SENTENCE(cx, "a delimiter must be");
    }
    assert_null(parse(cx, "a", &(heed_table_options){.header = (heed_header)9}));
    EXPECT_SENTENCE(cx, "no header option 9");
    close_context(cx);
}

static void test_sniffing(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct {
        const char *name, *text;
        char delimiter, decimal;
        int64_t columns;
        const char *last; /* cell of the last row */
    } cases[] = {
        {"t.csv", "a;b\n1,5;2,5\n", ';', ',', 2, "2,5"},
        {"t.csv", "a;b\n1.5;2.5\n", ';', '.', 2, "2.5"},
        {"t.csv", "a;b,c\n1;x,y\n", ';', '.', 2, "x,y"},
        {"t.csv", "a\tb\n1,5\t2\n", '\t', '.', 2, "2"},
        {"t.tsv", "a;b\n1;2\n", '\t', '.', 1, "1;2"},
        {"t.csv", "a|b\n1|2\n", '|', '.', 2, "2"},
        {"t.csv", "a,b\n\"x;y\",2\n\"z;w\",3\n", ',', '.', 2, "3"},
        {"t.csv", "a,b;c\n1,2\n3,4\n", ',', '.', 2, "4"},
        {"t.csv", "a b  c\n 1\t 2 3 \r\n4 5 6\n\n \n", ' ', '.', 3, "6"},
        {"t.csv", "1 2\n3 4", ' ', '.', 2, "4"},
        {"t.csv", "\"a b\"  c\n1 \"2\"\n", ' ', '.', 2, "2"},
        {"t.csv", "one two\nthree four\n", ',', '.', 1, "three four"},
        {"t.csv", "a b\n1 2 3\n", ',', '.', 1, "1 2 3"},
        {"t.csv", "x\n1\n", ',', '.', 1, "1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        heed_table *t = heed_table_parse(cx, cases[i].name, cases[i].text, strlen(cases[i].text), NULL);
        if (!t || heed_table_delimiter(t) != cases[i].delimiter || heed_table_decimal(t) != cases[i].decimal ||
            heed_table_columns(t) != cases[i].columns)
            fail_msg("%s: '%c', '%c', %d", cases[i].text, heed_table_delimiter(t), heed_table_decimal(t),
                     (int)heed_table_columns(t));
        assert_string_equal(heed_table_cell(cx, t, heed_table_rows(t) - 1, cases[i].columns - 1), cases[i].last);
        heed_table_close(t);
    }
    assert_int_equal(heed_table_delimiter(NULL) + heed_table_decimal(NULL), 0);
    REFUSED("a b\n1 \"2\"3\n", "line 2: text after a closing quote");
    close_context(cx);
}

/* Groups of three digits, where nothing else can be meant or where they were asked for. */
static void test_thousands(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const struct {
        const char *text;
        heed_table_options how;
        double number; /* of the last cell; 0: not a number */
    } cases[] = {
        {"x\ty\n1\t1,234,567\n2\t-12,345.5\n", {0}, -12345.5},
        {"x\ty\n1\t1,234.5\n2\t1,234\n", {0}, 1234},
        {"x\ty\n1\t2\n2\t1,234\n", {0}, 0},
        {"x\ty\n1\t2\n2\t1,234\n", {.thousands = ','}, 1234},
        {"x\ty\n1\t2\n2\t1,234\n", {.decimal = '.'}, 1234},
        {"x\ty\n1\t2\n2\t1,234\n", {.decimal = ','}, 1.234},
        {"x;y\n1;1,5\n2;1.234.567\n", {0}, 1234567},
        {"x\ty\n1\t12.345,67\n2\t1.000\n", {0}, 1000},
        {"x\ty\n1\t2\n2\t1'234\n", {0}, 1234},
        {"x\ty\n1\t1 234,5\n2\t-1\xC2\xA0"
         "234\xE2\x80\xAF"
         "567,25\n",
         {.decimal = ','},
         -1234567.25},
        {"x\ty\n1\t2\n2\t192.168.100.200\n", {0}, 0},
        {"x\ty\n1\t1,234,567\n2\t1,23,456\n", {0}, 0},
        {"x\ty\n1\t1,234,567\n2\t0,123\n", {0}, 0},
        {"x\ty\n1\t1,234,567\n2\t1,234,56\n", {0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double number = 0;
        heed_table *t = parse(cx, cases[i].text, &cases[i].how);
        const bool is = heed_table_number(t, 1, 1, &number);
        if (is != (cases[i].number != 0) || number != cases[i].number) fail_msg("case %zu: %g", i, number);
        heed_table_close(t);
    }
    heed_table *t = parse(cx, "x\ty\n1\t1,234\n", NULL);
    assert_false(heed_table_numbers(cx, t, 1, &(double){0}, 1));
    EXPECT_SENTENCE(cx, "'1,234' is not a number with a decimal point; --decimal , takes commas for decimal marks, "
                        "--thousands , for thousands separators");
    heed_table_close(t);
    assert_null(parse(cx, "a,b", &(heed_table_options){.thousands = '_'}));
    EXPECT_SENTENCE(cx, "a thousands separator is a comma, point, apostrophe or space");
    assert_null(parse(cx, "a,b", &(heed_table_options){.thousands = '.', .decimal = '.'}));
    EXPECT_SENTENCE(cx, "'.' cannot be the thousands separator and another mark");
    close_context(cx);
}

/* UTF-16 with a byte order mark, either way round; what is cut or broken is refused. */
static void test_utf16(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const uint16_t text[] = {0xFEFF, 'x', '\t', 0xE9, '\n', '1', '\t', 0x20AC, 0xD83D, 0xDE00, '\n'};
    enum { UNITS = sizeof text / sizeof *text };
    for (int big = 0; big < 2; big++) {
        unsigned char bytes[2 * UNITS];
        for (int i = 0; i < UNITS; i++)
            bytes[2 * i + big] = (unsigned char)(text[i] & 0xFF), bytes[2 * i + !big] = (unsigned char)(text[i] >> 8);
        heed_table *t = heed_table_parse(cx, "t.csv", (char *)bytes, sizeof bytes, NULL);
        assert_string_equal(heed_table_name(cx, t, 1), "\xC3\xA9");
        assert_string_equal(heed_table_cell(cx, t, 0, 1), "\xE2\x82\xAC\xF0\x9F\x98\x80");
        heed_table_close(t);
        assert_null(heed_table_parse(cx, "t.csv", (char *)bytes, sizeof bytes - 1, NULL));
        EXPECT_SENTENCE(cx, "t.csv: byte 21: not valid UTF-16");
        assert_null(heed_table_parse(cx, "t.csv", (char *)bytes, 18, NULL));
        EXPECT_SENTENCE(cx, "t.csv: byte 17: not valid UTF-16");
        assert_null(heed_table_parse(cx, "t.csv", (char *)bytes, 2, NULL));
        EXPECT_SENTENCE(cx, "t.csv: the table is empty");
    }
    close_context(cx);
}

/* What is no table is named, with what to do. */
static void test_magic(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const struct {
        const char *name, *bytes, *sentence;
    } cases[] = {
        {"book.xlsx", "PK\3\4\xFF", "book.xlsx: an Excel workbook, not a table: save it as CSV"},
        {"a.npz", "PK\3\4\xFF", "a.npz: an npz archive, not a table: unzip it and give its arrays"},
        {"a.zip", "PK\3\4\xFF", "a.zip: a zip archive, not a table: unpack it first"},
        {"a.parquet", "PAR1\xFF", "a.parquet: a Parquet file, not a table: write it as CSV"},
        {"a.csv", "\x89PNG\r\n", "a.csv: a PNG picture, not a table: 'heed classify DIR PICTURE' reads pictures"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(heed_table_parse(cx, cases[i].name, cases[i].bytes, strlen(cases[i].bytes), NULL));
        EXPECT_SENTENCE(cx, cases[i].sentence);
    }
    close_context(cx);
}

static void test_decimal(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    double out[3];
    heed_table *t = parse(cx, "x;y\n-1,5e1;1.5\n 2 ;1,25\n,5;3\n", NULL);
    assert_true(heed_table_numbers(cx, t, 0, out, 3));
    assert_true(out[0] == -15 && out[1] == 2 && out[2] == 0.5);
    assert_false(heed_table_numbers(cx, t, 1, out, 3));
    EXPECT_SENTENCE(cx, "line 2, column 'y': '1.5' is not a number with a decimal comma; --decimal . takes points");
    heed_table_close(t);
    t = parse(cx, "x\ty\n1,5\t2\n1.000,5\t3\n", &(heed_table_options){.decimal = ','});
    assert_true(heed_table_number(t, 0, 0, out) && out[0] == 1.5);
    assert_true(heed_table_number(t, 1, 0, out) && out[0] == 1000.5);
    assert_true(heed_table_number(t, 1, 1, NULL));
    assert_false(heed_table_number(t, 2, 1, NULL) || heed_table_number(t, 0, -1, NULL));
    heed_table_close(t);
    t = parse(cx, "x\ty\n1,5\t2\n", NULL);
    assert_false(heed_table_numbers(cx, t, 0, out, 1));
    EXPECT_SENTENCE(cx, "'1,5' is not a number with a decimal point; --decimal , takes commas");
    heed_table_close(t);
    assert_null(parse(cx, "a", &(heed_table_options){.decimal = 'x'}));
    EXPECT_SENTENCE(cx, "a decimal mark is a point or a comma");
    assert_null(parse(cx, "a", &(heed_table_options){.decimal = ',', .delimiter = ','}));
    EXPECT_SENTENCE(cx, "',' cannot be both the delimiter and the decimal mark");
    close_context(cx);
}

static void test_missing(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_table *t = parse(cx, "a,b\n1,\n2, NA\n3,N/A\n4,n/a\n5,NaN\n6,NULL\n7,null\n8,?\n9,\" \"\n", NULL);
    for (int64_t i = 0; i < 9; i++) {
        assert_true(heed_table_missing(t, i, 1));
        assert_false(heed_table_missing(t, i, 0));
    }
    double out[9];
    assert_false(heed_table_missing(t, 9, 1) || heed_table_missing(t, 0, 2) || heed_table_missing(NULL, 0, 0));
    assert_false(heed_table_numbers(cx, t, 1, out, 9));
    EXPECT_SENTENCE(cx, "t.csv: line 2, column 'b': '' is missing");
    heed_table_close(t);
    const char *const there[] = {"Na", "None", "0", "-", "NAN1", "nullify", "n", "??"};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) assert_false(text_is_missing(there[i]));
    close_context(cx);
}

static void test_lines(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_table *t = parse(cx, "a,b\n1,\"x\ny\"\n2,z\n", &(heed_table_options){.line = 10});
    assert_int_equal(heed_table_line(t, 0), 11);
    assert_int_equal(heed_table_line(t, 1), 13);
    assert_int_equal(heed_table_line(t, 2) + heed_table_line(t, -1) + heed_table_line(NULL, 0), 0);
    heed_table_close(t);
    assert_null(parse(cx, "a,b\n1,2,3\n", &(heed_table_options){.line = 5}));
    EXPECT_SENTENCE(cx, "t.csv: line 6: 3 cells");
    assert_null(parse(cx, "a\xFF", &(heed_table_options){.line = 5}));
    EXPECT_SENTENCE(cx, "t.csv: line 5: not valid UTF-8");
    assert_null(parse(cx, "a", &(heed_table_options){.line = -1}));
    EXPECT_SENTENCE(cx, "no line -1");
    close_context(cx);
}

static void test_ends(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct {
        const char *text;
        int64_t rows, columns;
    } cases[] = {{"a,b\nc,d", 2, 2}, {"a,b\nc,d\n", 2, 2}, {"a,b\nc,\n\n\r\n\n", 2, 2},
                 {"a,b\nc,", 2, 2},  {"a\n\nb\n", 3, 1},   {"\n", 1, 1},
                 {"\"\"", 1, 1},     {",", 1, 2},          {"a,b\r\n\r\n", 1, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        heed_table *t = parse(cx, cases[i].text, NULL);
        assert_int_equal(heed_table_rows(t), cases[i].rows);
        assert_int_equal(heed_table_columns(t), cases[i].columns);
        heed_table_close(t);
    }
    close_context(cx);
}

static void test_numbers(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_table *t =
        parse(cx, "x,y\n1,2\n -0.1e-3 ,abc\n.5,1e999\n5.,0x10\n+inf,\nNaN,1 2\n179769313486231570e291,2\n", NULL);
    double out[7];
    assert_true(heed_table_numbers(cx, t, 0, out, 7));
    assert_true(out[0] == 1 && out[1] == -0.1e-3 && out[2] == 0.5 && out[3] == 5 && isinf(out[4]) && isnan(out[5]));
    assert_true(out[6] == 1.7976931348623157e308);
    assert_false(heed_table_numbers(cx, t, 1, out, 7));
    EXPECT_SENTENCE(cx, "t.csv: line 3, column 'y': 'abc' is not a number");
    assert_false(heed_table_numbers(cx, t, 0, out, 6));
    EXPECT_SENTENCE(cx, "t.csv has 7 rows, room is for 6");
    assert_false(heed_table_numbers(cx, t, 0, NULL, 7));
    EXPECT_SENTENCE(cx, "room is for 0");
    assert_false(heed_table_numbers(cx, t, 2, out, 7));
    EXPECT_SENTENCE(cx, "no column 2 among 2");
    heed_table_close(t);
    /* A quoted new line moves the lines on; without a header columns have numbers. */
    t = parse(cx, "\"a\nb\",1\n\"c\",1e999\n", NULL);
    assert_false(heed_table_numbers(cx, t, 1, out, 2));
    EXPECT_SENTENCE(cx, "t.csv: line 3, column '2': '1e999' is too large a number");
    heed_table_close(t);
    close_context(cx);
}

static void test_number_read(void **state) {
    (void)state;
    const char *good[] = {"0", "-1", "+1.5", ".5", "5.", "1e5", "1E-5", "1.e+5", " 7\t", "inf", "-Infinity", "nan"};
    const char *bad[] = {"",    " ",    "-",      ".",   "e5",  "1e", "1e+",     "0x1", "1,5", "1.5.2", "--1",
                         "1 2", "inf1", "nan(1)", "\n1", "1\n", "1f", "infinit", "one", "+ 1", ".e5",   "1_000"};
    double value;
    bool range;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(number_read(good[i], &value, &range));
        const double expected = strtod(good[i], NULL);
        assert_true(value == expected || (isnan(value) && isnan(expected)));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (number_read(bad[i], &value, &range)) fail_msg("'%s' was taken for a number", bad[i]);
        assert_false(range);
    }
    assert_false(number_read("-1e400", &value, &range));
    assert_true(range);
    assert_true(number_read("1e-400", &value, &range)); /* rounds to 0, as it should */
    assert_true(value == 0);
    char text[NUMBER_ROOM];
    if (!set_comma_locale()) skip();
    assert_true(number_read("1.5", &value, &range) && value == 1.5);
    assert_false(number_read("1,5", &value, &range));
    number_shortest(text, 0.1, false);
    assert_string_equal(text, "0.1");
    number_shortest(text, (double)0.1f, true);
    assert_string_equal(text, "0.1");
    number_shortest(text, 1 / 3.0, false);
    assert_string_equal(text, "0.3333333333333333");
    setlocale(LC_ALL, "C");
}

static void test_text(void **state) {
    (void)state;
    const struct {
        const char *text;
        size_t size, bad;
    } cases[] = {
        {"plain", 5, 5},
        {"\xC3\xA9", 2, 2},
        {"\xE2\x82\xAC", 3, 3},
        {"\xF0\x9F\x98\x80", 4, 4},
        {"a\x80", 2, 1},
        {"\xC0\x80", 2, 0},
        {"\xC1\xBF", 2, 0},
        {"\xE0\x9F\xBF", 3, 0},
        {"\xED\xA0\x80", 3, 0},
        {"\xF0\x8F\xBF\xBF", 4, 0},
        {"\xF4\x90\x80\x80", 4, 0},
        {"\xF5\x80\x80\x80", 4, 0},
        {"ab\xE2\x82", 4, 2},
        {"\xE2\x28\xA1", 3, 0},
        {"\xF0\x9F\x98", 3, 0},
        {"\xFF", 1, 0},
        {"\xF4\x8F\xBF\xBF", 4, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(utf8_bad(cases[i].text, cases[i].size), cases[i].bad);
    assert_string_equal(escaped(NULL).s, "");
    assert_string_equal(escaped("a\x1B[0m\x7F\xC2\x9B"
                                "b\xFF\xC3\xA9\t\n\xE2\x80\xA8\xE2\x80\xAE")
                            .s,
                        "a\\x1B[0m\\x7F\\u009Bb\\xFF\xC3\xA9\\t\\n\\u2028\\u202E");
    char large[300];
    memset(large, 'x', sizeof large);
    large[91] = '\xC3', large[92] = '\xA9'; /* never cut within a character */
    const struct escaped s = escaped_bytes(large, sizeof large);
    assert_int_equal(strlen(s.s), 94);
    assert_int_equal(utf8_bad(s.s, strlen(s.s)), strlen(s.s));
    assert_string_equal(s.s + 91, "...");
    assert_string_equal(escaped_bytes(large, 95).s + 90, "x\xC3\xA9xx"); /* as much as fits */
}

/* A large table is left at once when it is cancelled. */
static int64_t questions;
static bool stop(void *user) { return ++questions > *(const int64_t *)user; }

static void test_cancelled(void **state) {
    (void)state;
    enum { ROWS = 300000 };
    char *text = malloc(4 * ROWS + 1);
    for (int i = 0; i < ROWS; i++) memcpy(text + 4 * i, "1,2\n", 4);
    int64_t patience = INT64_MAX, all;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .cancel = stop, .user = &patience});
    questions = 0;
    heed_table *t = heed_table_parse(cx, "t.csv", text, 4 * ROWS, NULL);
    assert_non_null(t);
    all = questions;
    assert_true(all >= 5);
    for (patience = 0; patience < all; patience++) {
        questions = 0;
        assert_null(heed_table_parse(cx, "t.csv", text, 4 * ROWS, NULL));
        assert_int_equal(heed_error(cx), HEED_ERR_CANCELLED);
        assert_int_equal(questions, patience + 1);
        patience += 2;
        heed_clear(cx);
    }
    double *numbers = malloc(ROWS * sizeof *numbers);
    questions = 0, patience = 2;
    assert_false(heed_table_numbers(cx, t, 0, numbers, ROWS));
    assert_int_equal(heed_error(cx), HEED_ERR_CANCELLED);
    heed_clear(cx);
    heed_table_close(t);
    heed_close(cx);
    free(numbers);
    free(text);
}

/* Text is checked piece by piece: a character that lies across two pieces is whole, and half a one is found. */
static void test_large_text(void **state) {
    (void)state;
    const size_t piece = (size_t)16 << 20, size = piece + 100;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    char *text = malloc(size);
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', size);
        memcpy(text + piece - shift, "\xF0\x9F\x98\x80", 4);
        heed_table *t = heed_table_parse(cx, "t.csv", text, size, NULL);
        if (!t) fail_msg("%s", heed_message(cx));
        heed_table_close(t);
        text[piece - shift + 3] = 'x';
        assert_null(heed_table_parse(cx, "t.csv", text, size, NULL));
        EXPECT_SENTENCE(cx, "t.csv: line 1: not valid UTF-8");
    }
    memset(text, 'x', size);
    text[size - 1] = '\xC3';
    assert_null(heed_table_parse(cx, "t.csv", text, size, NULL));
    EXPECT_SENTENCE(cx, "t.csv: line 1: not valid UTF-8");
    heed_close(cx);
    free(text);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    REFUSED("", "t.csv: the table is empty");
    REFUSED("\xEF\xBB\xBF", "t.csv: the table is empty");
    REFUSED("a,b\nc\n", "t.csv: line 2: 1 cells, the first row has 2");
    REFUSED("a,b,c\nd,e,f\n\ng,h,i\n", "t.csv: line 3: 1 cells, the first row has 3: an empty line; 'heed train tag'");
    REFUSED("a\nb,c,d\n", "the first row has 1; if this is a table, --separator says what separates its columns");
    REFUSED("a,b\n\"x\ny\",c\nd,e,f\n", "t.csv: line 4: 3 cells, the first row has 2");
    REFUSED("a,b\n\nc,d\n", "t.csv: line 2: 1 cells, the first row has 2");
    REFUSED("a,b\nc\0d,e", "t.csv: line 2: a NUL byte");
    REFUSED("a,b\nc,\xFF", "t.csv: line 2: not valid UTF-8");
    REFUSED("a\n\n\xC3", "t.csv: line 3: not valid UTF-8");
    REFUSED("a,b\n\"c,d\n\n", "t.csv: line 2: a quoted cell is never closed");
    REFUSED("a,\"b\"\"", "never closed");
    REFUSED("a,b\"c\"\n", "t.csv: line 1: a quote within a cell that does not begin with one");
    REFUSED("\"a\"b,c\n", "t.csv: line 1: text after a closing quote");
    REFUSED("\"a\" ,c\n", "text after a closing quote");
    REFUSED("a\rb\n", "t.csv: line 1: a carriage return without a line feed");
    REFUSED("a\r", "a carriage return without a line feed");
    REFUSED("b,a,c,a\n1,2,3,4\n", "t.csv: line 1: columns 2 and 4 are both named 'a'");
    heed_table_close(parse(cx, "a,,\n1,2,3\n", NULL)); /* several without a name */
    close_context(cx);
}

static void test_null(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_table *t = parse(cx, "a,b", &(heed_table_options){.header = HEED_HEADER_YES});
    double out[1];
    assert_null(heed_table_open(cx, NULL, NULL));
    EXPECT_SENTENCE(cx, "table_open: path is NULL");
    assert_null(heed_table_parse(cx, NULL, "a", 1, NULL));
    EXPECT_SENTENCE(cx, "table_parse");
    assert_null(heed_table_parse(cx, "t", NULL, 1, NULL));
    EXPECT_SENTENCE(cx, "table_parse");
    assert_null(heed_table_name(cx, NULL, 0));
    EXPECT_SENTENCE(cx, "table_name: the table is NULL");
    assert_null(heed_table_cell(cx, NULL, 0, 0));
    EXPECT_SENTENCE(cx, "table_cell");
    assert_int_equal(heed_table_find(cx, NULL, "a"), -1);
    EXPECT_SENTENCE(cx, "table_find");
    assert_int_equal(heed_table_find(cx, t, NULL), -1);
    EXPECT_SENTENCE(cx, "name is NULL");
    assert_false(heed_table_numbers(cx, NULL, 0, out, 1));
    EXPECT_SENTENCE(cx, "table_numbers");
    assert_null(heed_table_cell(cx, t, 0, 0));
    EXPECT_SENTENCE(cx, "no row 0 among 0");
    assert_null(heed_table_name(cx, t, -1));
    EXPECT_SENTENCE(cx, "no column -1 among 2");
    assert_true(heed_table_numbers(cx, t, 0, NULL, 0));
    assert_null(heed_table_open(cx, in_folder("absent.csv"), NULL));
    EXPECT_SENTENCE(cx, "absent.csv: ");
    assert_null(parse(NULL, "a", NULL));
    assert_int_equal(heed_table_rows(NULL) + heed_table_columns(NULL) + heed_table_has_header(NULL), 0);
    heed_table_close(NULL);
    heed_table_close(t);
    close_context(cx);
}

static const char sample[] = "name,\"x, \"\"y\"\"\",z\r\n\"multi\nline\",1.5,\xC3\xA9\r\nplain,-2e3,\"\"\r\n,3,end";

static bool look(heed_ctx *cx, const void *bytes, size_t size) {
    heed_table *t = heed_table_parse(cx, "m", bytes, size, NULL);
    size_t total = 0;
    for (int64_t r = 0; r < heed_table_rows(t); r++)
        for (int64_t c = 0; c < heed_table_columns(t); c++) total += strlen(heed_table_cell(cx, t, r, c));
    for (int64_t c = 0; c < heed_table_columns(t); c++) total += strlen(heed_table_name(cx, t, c));
    assert_true(total <= 3 * size + 64);
    heed_table_close(t);
    return t;
}

static bool read_file(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    heed_table *t = heed_table_open(cx, in_folder("s.csv"), NULL);
    heed_table_close(t);
    return t;
}

static void test_hostile(void **state) {
    (void)state;
    torment(look, sample, sizeof sample - 1, 10000);
    starve(look, ",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,", 75);
    write_bytes(in_folder("s.csv"), sample, sizeof sample - 1);
    starve(read_file, NULL, 0);
    assert_int_equal(unlink(in_folder("s.csv")), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quoting),    cmocka_unit_test(test_header),   cmocka_unit_test(test_thousands),
        cmocka_unit_test(test_utf16),      cmocka_unit_test(test_magic),    cmocka_unit_test(test_delimiters),
        cmocka_unit_test(test_ends),       cmocka_unit_test(test_numbers),  cmocka_unit_test(test_number_read),
        cmocka_unit_test(test_text),       cmocka_unit_test(test_refusals), cmocka_unit_test(test_null),
        cmocka_unit_test(test_hostile),    cmocka_unit_test(test_sniffing), cmocka_unit_test(test_decimal),
        cmocka_unit_test(test_missing),    cmocka_unit_test(test_lines),    cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_large_text),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
