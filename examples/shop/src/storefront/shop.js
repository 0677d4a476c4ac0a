// The list follows the orders: when there is news, it is asked for again, made by the server, at most four times a second.
"use strict";
const list = document.getElementById("list");
const WAIT_MS = 250;
let isAsked = false;

async function ask() {
  try {
    const answer = await fetch("/list");
    if (answer.ok) list.innerHTML = await answer.text();
  } catch {
    // The shop is closed; the event source tries again by itself, and asks when it is back.
  }
}

function soon() {
  if (isAsked) return;
  isAsked = true;
  setTimeout(() => { isAsked = false; ask(); }, WAIT_MS);
}

const news = new EventSource("/events");
news.onmessage = soon;
news.onopen = soon;
