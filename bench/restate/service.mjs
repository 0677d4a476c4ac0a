// A service of Restate with the steps of the engine's workflow: three, one after the other, which return at once.

// The SDK asks for Node 22 by this alone.
Promise.withResolvers ??= function () {
  let resolve, reject;
  const promise = new Promise((yes, no) => { resolve = yes; reject = no; });
  return { promise, resolve, reject };
};

const restate = await import("@restatedev/restate-sdk");

const order = restate.service({
  name: "order",
  handlers: {
    run: async (context, input) => {
      let receipt;
      for (const of of ["reserve", "charge", "send"]) {
        receipt = await context.run(of, () => ({ of, total: input.total }));
      }
      return receipt;
    },
  },
});

restate.endpoint().bind(order).listen(9080);
