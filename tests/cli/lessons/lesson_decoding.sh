# heed lesson sampling and in-context: figures, pictures and tables.
. "$SOURCE/tests/cli/expect.inc"
cd "$scratch"
expect 0 lesson sampling --out sampling
says '^top-k: the 4 most probable +49\.3 % +0\.00 % +4 '
says '^top-p: 0\.8 +52\.8 % +0\.00 % +3 '
listed sampling
expect 0 lesson in-context --steps 30 --out context
says '^ +0 +[0-9.]+ % +12\.5 %$'
listed context
wrong 2 'lesson sampling: takes no --steps' lesson sampling --steps 40
