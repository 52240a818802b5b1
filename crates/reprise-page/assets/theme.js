// @ts-check
// Applies the chosen theme before the page is drawn; without a choice the system's is used.
{
  const theme = localStorage.getItem("reprise-theme");
  if (theme) document.documentElement.dataset.theme = theme;
}
