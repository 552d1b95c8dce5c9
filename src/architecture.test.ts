import { existsSync, globSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import ts from 'typescript';
import { parse } from 'vue/compiler-sfc';
import { describe, expect, test } from 'vitest';
import { layerOf, type Layer } from '../config/layers.ts';

const root = path.resolve(import.meta.dirname, '..');
const maxLines = 400;

interface Import {
  /** A file from the root, `node:` for a built-in module, or a package's name. */
  target: string;
  isFile: boolean;
  typeOnly: boolean;
}

function scriptOf(file: string): string {
  const text = readFileSync(path.join(root, file), 'utf8');
  if (!file.endsWith('.vue')) return text;
  const { script, scriptSetup } = parse(text).descriptor;
  return [script?.content, scriptSetup?.content].filter((part) => part !== undefined).join('\n');
}

function resolve(specifier: string, from: string): Omit<Import, 'typeOnly'> {
  const bare = specifier.replace(/\?.*$/, '');
  if (bare.startsWith('.')) return { target: path.posix.join(path.posix.dirname(from), bare), isFile: true };
  if (bare.startsWith('#')) return { target: bare.replace(/^#/, 'src/'), isFile: true };
  if (bare.startsWith('node:') || builtinModules.includes(bare)) return { target: 'node:', isFile: false };
  const parts = bare.split('/');
  return { target: parts.slice(0, bare.startsWith('@') ? 2 : 1).join('/'), isFile: false };
}

function isTypeOnly(node: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(node)) return node.isTypeOnly;
  const clause = node.importClause;
  if (!clause) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const names = clause.namedBindings;
  return !clause.name && names !== undefined && ts.isNamedImports(names) && names.elements.every((e) => e.isTypeOnly);
}

function importsOf(file: string): Import[] {
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier)
      found.push({ ...resolve((node.moduleSpecifier as ts.StringLiteral).text, file), typeOnly: isTypeOnly(node) });
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [what] = node.arguments;
      if (what && ts.isStringLiteralLike(what)) found.push({ ...resolve(what.text, file), typeOnly: false });
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, scriptOf(file), ts.ScriptTarget.Latest));
  return found;
}

const files = globSync('src/**/*.{ts,vue}', { cwd: root }).map((file) => file.split(path.sep).join('/'));
const sources = files.filter((file) => !file.endsWith('.test.ts') && !file.endsWith('.d.ts')).sort();
const imports = new Map(sources.map((file) => [file, importsOf(file)]));

function faultOf(layer: Layer, { target, isFile, typeOnly }: Import): string | undefined {
  if (!isFile) return layer.packages?.includes(target) ? undefined : `the package ${target}`;
  const other = layerOf(target);
  if (other === layer || (other && layer.uses.includes(other.path))) return undefined;
  if (other && layer.types?.includes(other.path)) return typeOnly ? undefined : `more than types from ${target}`;
  return target;
}

/** Every import cycle once, as the files on it. */
function cycles(): string[] {
  const state = new Map<string, 'open' | 'done'>();
  const found: string[] = [];
  const stack: string[] = [];
  const visit = (file: string): void => {
    state.set(file, 'open');
    stack.push(file);
    for (const { target, isFile } of imports.get(file) ?? []) {
      if (!isFile || !imports.has(target)) continue;
      if (state.get(target) === 'open') found.push([...stack.slice(stack.indexOf(target)), target].join(' → '));
      else if (!state.has(target)) visit(target);
    }
    stack.pop();
    state.set(file, 'done');
  };
  for (const file of sources) if (!state.has(file)) visit(file);
  return found;
}

describe('architecture (config/layers.ts)', () => {
  test('the check itself sees sources and their imports', () => {
    expect(imports.get('src/main/server/serve.ts')).toContainEqual({
      target: 'src/main/services/index.ts',
      isFile: true,
      typeOnly: false,
    });
    expect(imports.get('src/main/server/http.ts')).toContainEqual({
      target: 'src/main/services/index.ts',
      isFile: true,
      typeOnly: true,
    });
  });

  test('every source belongs to a layer', () => {
    expect(sources.filter((file) => !layerOf(file))).toEqual([]);
  });

  test('every import names a file that exists, with its ending', () => {
    const missing = [...imports].flatMap(([file, list]) =>
      list.filter((i) => i.isFile && !existsSync(path.join(root, i.target))).map((i) => `${file} → ${i.target}`),
    );
    expect(missing).toEqual([]);
  });

  test('no layer imports what it may not', () => {
    const faults = [...imports].flatMap(([file, list]) => {
      const layer = layerOf(file);
      return layer ? list.flatMap((i) => faultOf(layer, i) ?? []).map((what) => `${file} imports ${what}`) : [];
    });
    expect(faults).toEqual([]);
  });

  test('no import leads back to where it came from', () => {
    expect(cycles()).toEqual([]);
  });

  test(`no file is longer than ${maxLines} lines`, () => {
    const long = files
      .map((file) => ({ file, lines: readFileSync(path.join(root, file), 'utf8').split('\n').length - 1 }))
      .filter(({ lines }) => lines > maxLines);
    expect(long).toEqual([]);
  });

  /** Folders whose files are found through their index alone: one that is not listed there would do nothing. */
  const registries = ['network/algorithms', 'rules', 'workload/parts', 'pipeline/schedules', 'explain/figures'];

  test.each(registries.map((folder) => `src/shared/engine/${folder}`))('every file of %s is listed', (folder) => {
    const reached = new Set<string>();
    const follow = (file: string) => {
      if (reached.has(file)) return;
      reached.add(file);
      for (const { target } of imports.get(file) ?? []) if (path.dirname(target) === folder) follow(target);
    };
    follow(`${folder}/index.ts`);
    const own = sources.filter((file) => path.dirname(file) === folder && !file.endsWith('.test.ts'));
    expect(own.length).toBeGreaterThan(5);
    expect(own.filter((file) => !reached.has(file))).toEqual([]);
  });
});
