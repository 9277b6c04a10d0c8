// Keeps a page fresh while it is looked at, and nothing is being typed. Everything works without it.
const main = document.querySelector("main[data-live]");
if (main) {
  const every = Number(main.dataset.live) * 1000;
  const refresh = async () => {
    if (document.hidden || main.contains(document.activeElement)) return;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      main.replaceChildren(...page.querySelector("main").childNodes);
    } catch {
      // The next time may do.
    }
  };
  setInterval(refresh, every);
}
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    document.getElementById("key").focus();
  }
});
