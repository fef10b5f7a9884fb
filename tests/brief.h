/* BRIEF: whether tests of threads should run little, since a sanitizer, some ten to thirty times slower, is watching.
 * What matters then is races and bounds. */
#ifndef TESTS_BRIEF_H
#define TESTS_BRIEF_H

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#    define BRIEF 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#        define BRIEF 1
#    endif
#endif
#ifndef BRIEF
#    define BRIEF 0
#endif

#endif
