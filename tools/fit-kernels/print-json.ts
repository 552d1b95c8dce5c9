/** The repository's printWidth: what fits stays on one line, as prettier leaves it. */
const WIDTH = 120;

/** JSON as prettier formats it, with short objects on one line, so that one curve is a few lines of diff. */
export function printJson(value: unknown, indent = '', key = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const members: readonly (readonly [string, unknown])[] = Object.entries(value);
  const entries = members.map(([name, member]) => ({
    label: Array.isArray(value) ? '' : `${JSON.stringify(name)}: `,
    member,
  }));
  if (entries.every(({ member }) => typeof member !== 'object')) {
    const space = Array.isArray(value) ? '' : ' ';
    const line = `${open}${space}${entries.map(({ label, member }) => label + JSON.stringify(member)).join(', ')}${space}${close}`;
    if (indent.length + key.length + line.length < WIDTH) return line;
  }
  const inner = `${indent}  `;
  const lines = entries.map(({ label, member }) => `${inner}${label}${printJson(member, inner, label)}`);
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}
