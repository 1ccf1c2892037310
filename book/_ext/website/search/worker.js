/**
 * The search, apart from the page, which goes on answering: it gets the index first, a text, and then questions `{asked, limit}`,
 * each of which it answers with how many places there are and the first of them as they are shown.
 */
import { excerpt, marked, typeset } from "./excerpt.js";
import { finder } from "./find.js";

let find;

self.onmessage = ({ data }) => {
  if (typeof data === "string") {
    find = finder(JSON.parse(data));
    return;
  }
  const places = find(data.asked);
  self.postMessage({
    asked: data.asked,
    count: places.length,
    places: places.slice(0, data.limit).map(({ entry, words }) => ({
      url: entry.url,
      page: entry.heading === entry.page ? [] : typeset(marked(entry.page, [])),
      heading: typeset(marked(entry.heading, words)),
      excerpt: typeset(excerpt(entry.text, words)),
    })),
  });
};
