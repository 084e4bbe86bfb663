cd /
mv /workspace /tmp/w
rmdir /workspace
ln -s /tmp /workspace
chmod 0 /workspace
