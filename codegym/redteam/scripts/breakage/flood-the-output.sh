yes &
yes >&2 &
wait
