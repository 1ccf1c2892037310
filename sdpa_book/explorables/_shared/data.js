/** What sdpa_book/explorables gave at the build: names, looks, and tables for every setting of the sliders. */
export const data = window.explorableData;

/** The rescalings by name, in the book's order: what people call it, colours on the light and on the dark ground, those of letters, dashes, and the outline of the marker. */
export const looks = Object.fromEntries(data.rescalings.map((look) => [look.name, look]));

const variables = Object.fromEntries([
  ...Object.entries(data.colours).map(([role, pair]) => [`--ex-${role}`, pair]),
  ...Object.entries(data.letters).map(([role, pair]) => [`--ex-letters-${role}`, pair]),
  ...data.rescalings.flatMap(({ colours, letters }, i) => [
    [`--ex-rescaling-${i}`, colours],
    [`--ex-letters-rescaling-${i}`, letters],
  ]),
]);

const places = Object.keys(looks);
const variable = (name) => (name in data.colours ? name : `rescaling-${places.indexOf(name)}`);

/** The colour of a role or a rescaling, on whatever ground the reader has. */
export const colour = (name) => `var(--ex-${variable(name)})`;

/** Its colour for letters, which need more contrast than lines. */
export const lettersColour = (name) => `var(--ex-letters-${variable(name)})`;

/** A style sheet with those colours: its selectors are those of explorables.css. */
export function colourSheet() {
  const [light, dark] = [0, 1].map((ground) =>
    Object.entries(variables)
      .map(([name, pair]) => `${name}:${pair[ground]};`)
      .join(""),
  );
  return `.explorable{${light}}
@media (prefers-color-scheme: dark){html:not([data-theme]) .explorable{${dark}}}
html[data-theme="dark"] .explorable{${dark}}`;
}
