# Texts and their classes for long-range.sh, drawn by a seed: -v task=T -v longest=N -v shortest=S -v n=EXAMPLES -v seed=S.
# Lengths are drawn between the two, each octave as often as the others; two tokens are left for those that the tokenizer adds.
#
# listops    a nested expression of MIN, MAX, MED (median) and SM (sum modulo 10) over digits, and its value (Nangia &
#            Bowman 2018; Tay et al. 2021)
# retrieval  noise, somewhere in it "key k VALUE", and at the end "? k": the class is the value, wherever it stood
# bytes      reviews of one class, drawn of those of -v part=train or test and joined; a file has them as part, class and
#            text with tabs between
function draw(most) { return int(rand() * most) }
function value(operator, count, x,    i, j, t) {
    if (operator == "SM") { t = 0; for (i = 1; i <= count; i++) t += x[i]; return t % 10 }
    for (i = 2; i <= count; i++) # sorted
        for (j = i; j > 1 && x[j - 1] > x[j]; j--) { t = x[j]; x[j] = x[j - 1]; x[j - 1] = t }
    if (operator == "MIN") return x[1]
    if (operator == "MAX") return x[count]
    return x[int((count + 1) / 2)]
}
# Appends an expression of at most `room` tokens to `text`, and returns what it is worth.
function expression(room, depth,    operator, count, i, x, share) {
    if (room < 5 || depth > 9) { text = text " " (i = draw(10)); return i }
    operator = names[1 + draw(4)]
    text = text " [" operator
    count = 2 + draw(4)
    share = int((room - 2) / count)
    for (i = 1; i <= count; i++) x[i] = expression(share, depth + 1)
    text = text " ]"
    return value(operator, count, x)
}
function listops(room,    worth) {
    do { text = ""; worth = expression(room, 0) } while (split(text, parts, " ") < room / 4)
    return worth
}
function retrieval(room,    words, place, i, k, v) {
    words = room - 5 # beside the pair and the question
    place = draw(words)
    k = draw(20)
    v = draw(8)
    for (i = 0; i < words; i++) {
        if (i == place) text = text " key k" k " v" v
        text = text " w" draw(50)
    }
    text = text " ? k" k
    return v
}
function bytes(room,    label) {
    label = draw(2) ? "pos" : "neg"
    while (length(text) <= room) text = text " " review[label, draw(reviews[label])]
    text = substr(text, 1, room + 1)
    return label
}
BEGIN { FS = "\t" }
$1 == part { review[$2, reviews[$2]++] = $3 }
END {
    split("MIN MAX MED SM", names, " ")
    srand(seed)
    print "text\tlabel"
    for (e = 0; e < n; e++) {
        text = ""
        room = int(shortest * exp(rand() * log(longest / shortest))) - 2
        worth = task == "listops" ? listops(room) : task == "bytes" ? bytes(room) : retrieval(room)
        print substr(text, 2) "\t" worth
    }
}
