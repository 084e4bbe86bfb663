// Reports node's tests as JSON lines, in the process of the tests themselves; "end" comes last.
const NAMES = { "test:start": "start", "test:pass": "pass", "test:fail": "fail" };

function said(error) {
  const cause = error?.cause ?? error;
  if (!(cause instanceof Error)) return { error: String(cause), stack: "" };
  return { error: `${cause.name}: ${cause.message}`, stack: String(cause.stack) };
}

export default async function* report(source) {
  for await (const { type, data } of source) {
    if (!(type in NAMES)) continue;
    const error = data.details?.error;
    const record = {
      type: NAMES[type],
      name: data.name,
      file: data.file,
      depth: data.nesting,
      ms: data.details?.duration_ms,
      suite: data.details?.type === "suite",
      skip: data.skip !== undefined,
      todo: data.todo !== undefined,
      failure: error?.failureType,
      ...(error ? said(error) : {}),
    };
    yield JSON.stringify(record) + "\n";
  }
  yield JSON.stringify({ type: "end" }) + "\n";
}
