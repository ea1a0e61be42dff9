// A form of filters whose values stand in the address: a link shows the same, and Back goes back.

function keepInAddress(form, apply) {
  const fields = [...form.querySelectorAll("input, select")];
  const listSet = () => fields.filter((field) => field.value !== "").map(({ name, value }) => [name, value]);
  let written = null; // by this page: what one types meanwhile is not taken back

  function write(replaces) {
    // "all=" is nobody's name: an address without filters that is no place of the page, either.
    written = `#${new URLSearchParams(listSet()).toString() || "all="}`;
    if (written === location.hash) return;
    if (replaces) location.replace(written);
    else location.hash = written;
  }

  function read() {
    const values = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) {
      field.value = values.get(field.name) ?? "";
      if (field.selectedIndex === -1) field.value = ""; // no such option
    }
  }

  // A place of the page leaves the filters as they are.
  function follow() {
    const isOfFilters = location.hash === "" || location.hash.includes("=");
    if (!isOfFilters) return;
    if (location.hash !== written) read();
    written = null;
    apply();
  }

  let waiting = 0;
  function change(event) {
    clearTimeout(waiting);
    const isTyped = event.target.matches("input");
    waiting = setTimeout(() => (write(isTyped), apply()), isTyped ? 150 : 0);
  }

  form.addEventListener("input", change);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", change);
  addEventListener("hashchange", follow);
  for (const link of document.querySelectorAll('a[href^="#"][href*="="]')) {
    link.addEventListener("click", () => form.closest("section").focus());
  }
  read();
  if (listSet().length > 0) {
    apply();
    form.closest("section").scrollIntoView();
  }
  return { listSet };
}
