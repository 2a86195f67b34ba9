// The worker of a recording in a page of one file: no server has its module, so the page sends it as the first message.
const sent = new Promise((resolve) => {
  const take = (event) => {
    event.stopImmediatePropagation();
    resolve(event.data);
  };
  addEventListener("message", take, { once: true });
});
const fetch = async () => new Response(await sent);
