python3 - "$@" <<'END_OF_SCRIPT'
# pages.sh NAME   prints what an index says of a project, and each file that it links to
import http.client, os, re, sys, urllib.error, urllib.parse, urllib.request
name, index = sys.argv[1], os.environ["PIP_INDEX_URL"].rstrip("/")
root = index.rpartition("/")[0]
pages = (f"{index}/{name}/", f"{index}/{name.upper()}/", f"{root}/pypi/{name}/json",
         f"{root}/project/{name}/", f"{root}/rss/project/{name}/releases.xml")
links = []
for page in pages:
    try:
        with urllib.request.urlopen(page, timeout=10) as answer:
            data = answer.read(32 << 20)
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(page, error)
        continue
    sys.stdout.buffer.write(data)
    found = re.findall(rb'(?:href="|"url": ?")([^"#]+)', data)
    links += [urllib.parse.urljoin(page, each.decode("latin-1")) for each in found]
for link in links[:40]:
    try:
        with urllib.request.urlopen(link, timeout=10) as answer:
            sys.stdout.buffer.write(answer.read(32 << 20))
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(link, error)
END_OF_SCRIPT
