/* Loads the explorables of a page when one of them comes near the window, or when the address names one: #growth:d_k=64,p=0.5 */
(function () {
  const here = document.currentScript.src;
  const loaded = {};

  /** A script that runs after those that were asked for before it, however long each takes. */
  const load = (name) =>
    (loaded[name] ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL(name, here);
      script.async = false;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    }));

  const start = (figure) => {
    watch.unobserve(figure); // once is enough: a second start goes to the state of the address
    const { explorable: name } = figure.dataset;
    const scripts = [`${name}_data.js`, "explorables.min.js", `${name}.min.js`].map(load);
    const stays = (wrong) => {
      figure.style.setProperty("--ex-height", "auto"); // the picture stays, or comes back, and takes its own height
      figure.querySelector(".explorable-app")?.remove();
      figure.querySelector(".explorable-static").hidden = false;
      console.warn(wrong);
    };
    Promise.all(scripts)
      .then(() => window.Explorables.start(figure))
      .catch(stays);
  };

  const named = () => {
    const name = /^#(\w+):/.exec(location.hash);
    const figure = name && document.querySelector(`[data-explorable="${name[1]}"]`);
    if (figure) start(figure);
  };

  const near = (entries) => entries.forEach((entry) => entry.isIntersecting && start(entry.target));
  const watch = new IntersectionObserver(near, { rootMargin: "600px" });
  document.querySelectorAll("figure[data-explorable]").forEach((figure) => watch.observe(figure));
  addEventListener("hashchange", named);
  named();
})();
