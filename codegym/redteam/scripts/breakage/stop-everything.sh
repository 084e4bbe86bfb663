kill -STOP 1
kill -STOP -1
