// follow opens an EventSource and resolves with the events that it gave out, in their order: when one with the last event ID
// `last` came, or when the source closed by itself, which it does on an answer that is no stream. It calls tally for each
// event, if the page has such a function.
function follow(url, types, last) {
  return new Promise((resolve) => {
    const source = new EventSource(url);
    const events = [];
    const end = () => { source.close(); resolve(events); };
    for (const type of types) {
      source.addEventListener(type, (e) => {
        if (!(e instanceof MessageEvent)) return; // the source's own error event
        events.push({ type: e.type, data: e.data, id: e.lastEventId });
        if (window.tally) window.tally(url);
        if (last !== "" && e.lastEventId === last) end();
      });
    }
    source.addEventListener("error", () => { if (source.readyState === EventSource.CLOSED) end(); });
  });
}
