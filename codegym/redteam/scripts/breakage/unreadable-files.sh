chmod -R 0 /workspace
chattr -R +i /workspace
setfacl -R -m u::- /workspace
