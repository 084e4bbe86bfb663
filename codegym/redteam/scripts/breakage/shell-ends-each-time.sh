exec /bin/false
