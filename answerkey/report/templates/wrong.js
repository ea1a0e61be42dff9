// Wrong predictions, searched and filtered where they stand.
const form = document.querySelector(".filters");
const search = document.getElementById("search");
const selects = [...form.querySelectorAll("select")];
showWrittenSql(document);
const cards = [...document.querySelectorAll(".wrong")].map((card) => [card, card.textContent.toLowerCase()]);
const status = document.getElementById("found");

// As in the table of questions: every word, in any order.
function apply() {
  const words = search.value.toLowerCase().split(/\s+/);
  let count = 0;
  for (const [card, text] of cards) {
    const isFound =
      words.every((word) => text.includes(word)) &&
      selects.every(({ name, value }) => value === "" || card.dataset[name] === value);
    card.hidden = !isFound;
    count += isFound;
  }
  status.textContent = `${count} of ${cards.length}`;
}

keepInAddress(form, apply);
form.hidden = false;
apply();
