/* Series over time: dates, steps, long tables, gaps and what fills them, and every refusal with its sentence. */
#include "data/tables/times.h"
#include "heed/history.h"
#include "io/io_test.h"
#include <math.h>

static heed_history *parse(heed_ctx *cx, const char *text, heed_history_opts opts) {
    return heed_history_parse(cx, "t", text, strlen(text), &opts);
}

static void test_times(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double time;
    } good[] = {{"1970-01-01", 0},
                {"2016-07-01 00:00:00", 1467331200000.0},
                {"2016-07-01T01:00Z", 1467334800000.0},
                {"2016-07-01T01:00:00+02:00", 1467327600000.0},
                {"2016-07-01 00:00:00.250", 1467331200250.0},
                {"2000-02-29", 951782400000.0},
                {"1600-03-01", -11670912000000.0},
                {"0001-01-01", -62135596800000.0},
                {"9999-12-31 23:59", 253402300740000.0},
                {"2016/07/01", 1467331200000.0},
                {"2016-07", 1467331200000.0},
                {"01.07.2016", 1467331200000.0},
                {"01.07.2016 00:00", 1467331200000.0},
                {"13/07/2016", 1468368000000.0},
                {"07/13/2016 01:00:00", 1468371600000.0},
                {"01-07-2016", 1467331200000.0}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        heed_clock clock;
        double time;
        char text[HEED_TIME_ROOM];
        assert_true(heed_time_read(good[i].text, &clock, &time));
        assert_true(clock.dates && time == good[i].time);
        assert_string_equal(heed_time_text(&clock, time, text), good[i].text); /* as it was written */
    }
    double time;
    heed_clock clock;
    assert_true(heed_time_read(" 12.5", &clock, &time) && !clock.dates && time == 12.5);
    assert_true(heed_time_read("2016-07-01 4:30", &clock, &time) && time == 1467347400000.0);
    assert_true(heed_time_read("1.7.2016 4:30", &clock, &time) && time == 1467347400000.0);
    static const char *const bad[] = {"",
                                      "1/7/2016",
                                      "13/13/2016",
                                      "31.06.2016",
                                      "1.7.16",
                                      "1.7/2016",
                                      "yesterday",
                                      "2016-13-01",
                                      "2015-02-29",
                                      "2016-07-01 24:00",
                                      "2016-07-01T",
                                      "2016-07-01 00:00x",
                                      "2016-7-1",
                                      "nan",
                                      "inf",
                                      "2016-07-01 00:00:00+2",
                                      "2016-07-00",
                                      "0000-01-01",
                                      "2016-07-01 00:0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(heed_time_read(bad[i], &clock, &time));
    for (int64_t days = -800000; days < 800000; days += 997) { /* every date is read as it is written */
        char text[HEED_TIME_ROOM];
        const heed_clock day = {.dates = true, .precision = HEED_CLOCK_DAY, .dash = '-'};
        const double at = (double)days * 86400000;
        if (heed_time_text(&day, at, text)[4] != '-') continue; /* before the year 1 */
        assert_true(heed_time_read(text, NULL, &time) && time == at);
    }
}

static void test_steps(void **state) {
    (void)state;
    char text[HEED_TIME_ROOM];
    double from = 0, to = 0;
    bool exact;
    const heed_interval hour = {.size = 3600000}, month = {.size = 2.6e9, .months = 1},
                        end = {.size = 2.6e9, .months = 1, .month_ends = true}, tenth = {.size = 0.1};
    assert_string_equal(heed_interval_text(&hour, true, text), "1 hour");
    assert_string_equal(heed_interval_text(&(heed_interval){.size = 900000}, true, text), "15 minutes");
    assert_string_equal(heed_interval_text(&month, true, text), "1 month");
    assert_string_equal(heed_interval_text(&tenth, false, text), "0.1");
    assert_true(heed_time_read("2023-11-30", NULL, &from) && heed_time_read("2024-02-29", NULL, &to));
    assert_true(heed_interval_count(&end, from, to, &exact) == 3 && exact);
    assert_true(heed_interval_add(&end, to, -3) == from && heed_interval_add(&month, from, 3) == to);
    assert_true(heed_interval_count(&tenth, 0.3, 0.7, &exact) == 4 && exact);
    assert_true(heed_interval_count(&hour, 0, 5400000, &exact) == 2 && !exact);
    assert_int_equal(heed_interval_season(&hour, true), 24);
    assert_int_equal(heed_interval_season(&month, true), 12);
    assert_int_equal(heed_interval_season(&hour, false), 1);
}

/* Slashes: one row tells what comes first in all of them; without one it is refused. */
static void test_slashes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const struct {
        const char *text;
        double step;
    } cases[] = {{"date,a\n11/01/2024,1\n12/01/2024,2\n13/01/2024,3\n", 1},
                 {"date,a\n1/11/2024,1\n1/12/2024,2\n1/13/2024,3\n", 1},
                 {"date,a\n01.01.2024 00:00,1\n02.01.2024 00:00,2\n03.01.2024 00:00,3\n", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_history *h = parse(cx, cases[i].text, (heed_history_opts){0});
        if (!h) fail_msg("%s", heed_message(cx));
        assert_true(h->step.size == cases[i].step * 86400000 && h->step.months == 0);
        heed_history_free(cx, h);
    }
    assert_null(parse(cx, "date,a\n01/02/2024,1\n01/03/2024,2\n", (heed_history_opts){0}));
    EXPECT_SENTENCE(cx,
                    "t: line 2, column 'date': '01/02/2024' and all others may have the day or the month first; write "
                    "dates as 2016-07-01");
    close_context(cx);
}

static void test_wide(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_history *h = parse(cx, "x,date,a,b\n1,2020-01-01,10,20\n2,2020-01-02,11,21\n3,2020-01-03,12,22\n",
                            (heed_history_opts){.target = "b,a", .covariates = "x", .calendar = "weekday"});
    assert_non_null(h);
    assert_int_equal(h->rows, 3);
    assert_int_equal(h->targets, 2);
    assert_int_equal(h->covariates, 1);
    assert_int_equal(h->known, 2);
    assert_true(h->step.size == 86400000 && h->step.months == 0);
    assert_true(h->target[0] == 20 && h->target[1] == 10 && h->covariate[2] == 3);
    assert_string_equal(h->time_name, "date");
    assert_string_equal(h->target_names[0], "b");
    const float turn = (float)(2 * 3.14159265358979 * 2 / 7); /* a Wednesday, the third day from Monday */
    assert_true(fabsf(h->knowns[0] - sinf(turn)) < 1e-6f && fabsf(h->knowns[1] - cosf(turn)) < 1e-6f);
    heed_history *again =
        parse(cx, "b,a,date,x\n20,10,2021-01-01,5\n21,11,2021-01-02,6\n", (heed_history_opts){.like = h});
    assert_true(again && again->target[0] == 20 && again->target[1] == 10 && again->known == 2);
    heed_history_free(cx, again);
    assert_null(parse(cx, "b,a,date,x\n20,10,2021-01-01,5\n21,11,2021-02-02,6\n", (heed_history_opts){.like = h}));
    assert_string_equal(heed_message(cx), "t: rows are 32 days apart, those of the training data were 1 day apart");
    heed_clear(cx);
    heed_history_free(cx, h);
    close_context(cx);
}

static void test_long(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_history *h =
        parse(cx, "t,who,v\n1,b,1\n1,a,10\n2,b,2\n2,a,20\n3,a,30\n", (heed_history_opts){.series = "who"});
    assert_non_null(h);
    assert_int_equal(h->series, 2);
    assert_string_equal(h->series_names[0], "a");
    assert_int_equal(h->start[1], 3);
    assert_int_equal(h->rows, 5);
    const float expected[] = {10, 20, 30, 1, 2};
    for (int i = 0; i < 5; i++) assert_true(h->target[i] == expected[i]);
    assert_true(heed_history_time(h, 1, 1) == 2);
    heed_history_free(cx, h);
    h = parse(cx, "5\n6\n8\n", (heed_history_opts){.time = "none"});
    assert_true(h && h->rows == 3 && !h->time_name && heed_history_time(h, 0, 2) == 3);
    heed_history_free(cx, h);
    h = parse(cx, "m,v\n2020-01-31,1\n2020-02-29,2\n2020-03-31,3\n2020-04-30,4\n", (heed_history_opts){0});
    assert_true(h && h->step.months == 1 && h->step.month_ends);
    assert_true(heed_history_time(h, 0, 4) == heed_history_time(h, 0, 0) + 121 * 86400000.0); /* 31 May */
    heed_history_free(cx, h);
    close_context(cx);
}

static void test_fill(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *text = "t,v,k\n1,10,1\n2,,2\n3,,3\n6,50,\n7,60,7\n8,NA,8\n";
    heed_history *h = parse(cx, text, (heed_history_opts){.target = "v", .known = "k", .fill = HEED_FILL_LINEAR});
    assert_non_null(h);
    const float line[] = {10, 18, 26, 34, 42, 50, 60, 60};
    for (int i = 0; i < 8; i++) assert_true(fabsf(h->target[i] - line[i]) < 1e-5f && h->knowns[i] == (float)(i + 1));
    assert_int_equal(h->rows_added, 2);
    assert_int_equal(h->filled, 8);
    heed_history_free(cx, h);
    h = parse(cx, text, (heed_history_opts){.target = "v", .known = "k", .fill = HEED_FILL_FORWARD, .future = true});
    assert_non_null(h);
    assert_int_equal(h->future[0], 1);
    assert_true(h->target[4] == 10 && isnan(h->target[7]) && h->knowns[7] == 8 && h->knowns[4] == 3);
    heed_history_free(cx, h);
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const struct {
        const char *text, *why;
        heed_history_opts opts;
    } bad[] = {
        {"date,v\n2020-01-01 00:00,1\n2020-01-01 01:00,2\n2020-01-01 04:00,3\n2020-01-01 05:00,3\n",
         "t: line 4, column 'date': a gap: 2 rows are missing between 2020-01-01 01:00 and 2020-01-01 04:00; --fill "
         "forward or --fill linear fills it",
         {0}},
        {"t,v\n1,1\n2,2\n2,3\n",
         "t: line 4, column 't': 2 stands on line 3 already; of a table with several series "
         "--series names the column that tells them apart",
         {0}},
        {"t,v\n1,1\n3,2\n2,3\n",
         "t: line 4, column 't': 2 comes after 3 of line 3: rows must be in order of time",
         {0}},
        {"t,v\n1,1\n2,2\n3,3\n4.5,4\n5,3\n6,3\n",
         "t: line 5, column 't': 4.5 is 1.5 after the row before, out of step: rows are 1 apart",
         {0}},
        {"t,v\n1,1\n2,\n3,3\n",
         "t: line 3, column 'v': a missing value ('') at 2; --fill forward or --fill linear fills it",
         {0}},
        {"t,v\n1,\n2,2\n3,3\n", "t: column 'v': the first value, at 1, is missing", {.fill = HEED_FILL_LINEAR}},
        {"t,v\n1,1\n2,x\n", "t: line 3, column 'v': 'x' is not a number", {0}},
        {"t,v\n1,1\n2,1e39\n", "t: line 3, column 'v': '1e39' is too large a number", {0}},
        {"date,v\n2020-01-01,1\nsoon,2\n",
         "t: line 3, column 'date': 'soon' is neither a date, as 2016-07-01, 01.07.2016 or "
         "2016-07-01 00:00:00, nor a number",
         {0}},
        {"date,v\n2020-01-01,1\n7,2\n", "t: line 3, column 'date': '7' is a number among dates", {0}},
        {"a,b\n1,2\n3,4\n",
         "t: no column of times: none holds dates; --time COLUMN names one, --time none counts the "
         "rows",
         {0}},
        {"t,v\n1,1\n2,2\n", "t: features of the calendar need dates, and times are numbers", {.calendar = "auto"}},
        {"date,v\n2020-01-01,1\n2020-01-02,2\n",
         "calendar: 'moon' is not one of: minute hour weekday monthday yearday month",
         {.calendar = "hour,moon"}},
        {"t,v\n1,1\n2,2\n", "t: no column 'w' among its 2: t, v", {.target = "w"}},
        {"t,v\n1,1\n2,2\n", "t: column 'v' is chosen twice", {.target = "v", .known = "v"}},
        {"date,v\n2020-01-01 00:00:00,1\n2020-01-01 00:00:01,2\n2020-01-01 00:00:02,2\n2020-02-01 00:00:00,2\n",
         "t: line 5, column 'date': a gap: 2678397 rows are missing between 2020-01-01 00:00:02 and 2020-02-01 "
         "00:00:00, too many to fill",
         {.fill = HEED_FILL_FORWARD}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(parse(cx, bad[i].text, bad[i].opts));
        assert_string_equal(heed_message(cx), bad[i].why);
        heed_clear(cx);
    }
    close_context(cx);
}

static void test_ticks(void **state) {
    (void)state;
    heed_clock clock;
    double from = 0, to = 0;
    struct time_tick tick[TIME_TICKS];
    assert_true(heed_time_read("2024-02-27 20:00", &clock, &from) && heed_time_read("2024-03-02 03:00", NULL, &to));
    const int n = times_ticks(&clock, from, to, 9, tick);
    assert_int_equal(n, 7); /* every 12 hours */
    assert_string_equal(tick[0].text, "28 Feb");
    assert_string_equal(tick[1].text, "12:00");
    assert_string_equal(tick[4].text, "1 Mar");
    assert_int_equal(times_ticks(&clock, from, from + 400 * 86400000.0, 9, tick), 5);
    assert_string_equal(tick[0].text, "Apr 2024");
}

static bool load_long(heed_ctx *cx, const void *bytes, size_t size) {
    heed_history *h = heed_history_parse(cx, "t", bytes, size,
                                         &(heed_history_opts){.series = "who",
                                                              .target = "v",
                                                              .known = "k",
                                                              .calendar = "hour,month",
                                                              .fill = HEED_FILL_LINEAR,
                                                              .future = true});
    heed_history_free(cx, h);
    return h;
}

static void test_hostile(void **state) {
    (void)state;
    static const char text[] = "date,who,v,k\n2020-01-01 00:00,a,1,2\n2020-01-01 01:00,a,2,3\n2020-01-01 03:00,a,,4\n"
                               "2020-01-01 00:00,b,1,2\n2020-01-01 01:00,b,2,3\n";
    heed_ctx *cx = open_context();
    mutate_often(cx, load_long, text, sizeof text - 1, 300);
    close_context(cx);
    starve(load_long, text, sizeof text - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),    cmocka_unit_test(test_steps), cmocka_unit_test(test_slashes),
        cmocka_unit_test(test_wide),     cmocka_unit_test(test_long),  cmocka_unit_test(test_fill),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_ticks), cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
