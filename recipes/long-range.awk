# Texts and their classes for long-range.sh, drawn by a seed: -v task=listops or retrieval, -v length_=N -v n=EXAMPLES -v seed=S.
#
# listops    a nested expression of MIN, MAX, MED (median) and SM (sum modulo 10) over digits, of about N tokens, and its
#            value (Nangia & Bowman 2018; Tay et al. 2021)
# retrieval  noise, somewhere in it "key k VALUE", and at the end "? k": the class is the value, wherever it stood
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
function retrieval(    words, place, i, k, v) {
    words = length_ - 7 # beside the pair, the question, and two tokens that the tokenizer adds
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
BEGIN {
    split("MIN MAX MED SM", names, " ")
    length_ = length_ ? length_ : 1000
    srand(seed)
    print "text\tlabel"
    for (e = 0; e < n; e++) {
        text = ""
        if (task == "listops") {
            do { text = ""; worth = expression(length_, 0); count = split(text, parts, " ") } while (count < length_ / 4)
        } else {
            worth = retrieval()
        }
        print substr(text, 2) "\t" worth
    }
}
