/** What the stand-in lacks fails loudly, so that no test passes on a silent undefined. */
export function strict(name, target) {
  return new Proxy(target, {
    get(t, k, r) {
      if (k in t || typeof k === 'symbol' || k === 'then' || k === 'toJSON') return Reflect.get(t, k, r);
      throw new Error(`electron stand-in: ${name}.${k} is not implemented`);
    },
  });
}
