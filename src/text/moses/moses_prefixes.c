/* Words that keep the full stop behind them, from the lists of the Moses tools: initials, titles, abbreviations, and in
 * German ordinals. One string a language, every word between blanks. */
#define _GNU_SOURCE /* memmem */
#include "text/moses/moses.h"

#include <string.h>

#define CAPITALS " A B C D E F G H I J K L M N O P Q R S T U V W X Y Z"
#define TITLES                                                                                                         \
    " Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR Dr Ens Gen Gov Hon Hosp Insp Lt MM MR"  \
    " MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev Rt Sen Sens Sfc Sgt Sr St"     \
    " Supt Surg"

static const char *const prefixes[] = {
    [MOSES_EN] = CAPITALS TITLES " Drs Hr v vs i.e rev e.g Rs Nos Nr Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec ",
    [MOSES_DE] = CAPITALS TITLES
    " a b c d e f g h i j k l m n o p q r s t u v w x y z"
    " II III IV VI VII VIII IX XI XII XIII XIV XV XVI XVII XVIII XIX XX"
    " ii iii iv vi vii viii ix xi xii xiii xiv xv xvi xvii xviii xix xx"
    " Mio Mrd bzw vs usw d.h z.B u.a etc MwSt ggf d.J D.h m.E vgl I.F z.T sogen ff u.E g.U g.g.A c.-à-d Buchst u.s.w"
    " sog u.ä Std evtl Zt Chr u.U o.ä Ltd b.A z.Zt spp sen SA k.o jun i.H.v dgl dergl Co zzt usf s.p.a Dkr bzgl BSE"
    " No Nos Art Nr pp ca Ca"
    " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40"
    " 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77"
    " 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 ",
    [MOSES_FR] = CAPITALS
    " b c d e f g h i j k l m n o p q r s t u v w x y z" /* "a" is a word, and may end a sentence */
    " A.C.N A.M art ann apr av auj lib B.P boul ca c.-à-d cf ch.-l chap contr C.P.I C.Q.F.D C.N C.N.S C.S dir éd e.g"
    " env al etc E.V ex fasc fém fig fr hab ibid id i.e inf LL.AA LL.AA.II LL.AA.RR LL.AA.SS L.D LL.EE LL.MM"
    " LL.MM.II.RR loc.cit masc MM ms N.B N.D.A N.D.L.R N.D.T n/réf NN.SS N.S N.D N.P.A.I p.c.c pl pp p.ex p.j P.S"
    " R.A.S R.-V R.P R.I.P SS S.S S.A S.A.I S.A.R S.A.S S.E sec sect sing S.M S.M.I.R sq sqq suiv sup suppl tél"
    " T.S.V.P vb vol vs X.O Z.I ",
};

static const char *const numeric[] = {[MOSES_EN] = " No Art pp ", [MOSES_DE] = " ", [MOSES_FR] = " "};

static bool is_among(const char *words, const char *word, size_t size) {
    char wanted[32];
    if (size == 0 || size > sizeof wanted - 2 || memchr(word, ' ', size)) return false;
    wanted[0] = wanted[size + 1] = ' ';
    memcpy(wanted + 1, word, size);
    return memmem(words, strlen(words), wanted, size + 2) != NULL;
}

bool moses_is_prefix(enum moses_language language, const char *word, size_t size) {
    return is_among(prefixes[language], word, size);
}

bool moses_is_numeric_prefix(enum moses_language language, const char *word, size_t size) {
    return is_among(numeric[language], word, size);
}
