/** Scenario files in and out of the page: by button, drop, menu or the operating system. */
import { useRouter } from 'vue-router';
import { useLibrary } from '../../stores/library.ts';
import { useNotices } from '../../stores/notices.ts';
import { saveFile } from '../../ui/save-file.ts';

/** The services refuse more; saying so before reading saves the page from it. */
const MAX_FILE_BYTES = 16_000_000;

export function useTransfer() {
  const library = useLibrary();
  const notices = useNotices();
  const router = useRouter();

  async function importText(fileName: string, text: string) {
    const record = await notices.attempt(`Could not import ${fileName}`, () => library.importText(fileName, text));
    if (record === undefined) return;
    const done = `Imported “${record.scenario.name}”`;
    if (record.warnings.length === 0) notices.tell(done);
    else notices.warn(done, record.warnings.join(' '));
    await router.push({ name: record.scenario.results === null ? 'setup' : 'plans', params: { id: record.id } });
  }

  async function importFiles(files: Iterable<File>) {
    for (const file of files) {
      const text = await notices.attempt(`Could not read ${file.name}`, async () => {
        if (file.size > MAX_FILE_BYTES) throw new Error('It is larger than 16 MB, so it is not a scenario file.');
        return file.text();
      });
      if (text !== undefined) await importText(file.name, text);
    }
  }

  /** The browser's own file dialog. */
  function choose() {
    const input = document.createElement('input');
    input.type = 'file';
    input.accept = '.trainyard,.json,application/json';
    input.multiple = true;
    input.addEventListener('change', () => void importFiles(input.files ?? []));
    input.click();
  }

  async function exportScenario(id: string) {
    const file = await notices.attempt('Could not export it', () => library.exportText(id));
    if (file === undefined) return;
    saveFile(file.fileName, new Blob([file.text], { type: 'application/json' }));
    notices.tell(`Exported ${file.fileName}`);
  }

  return { importText, importFiles, choose, exportScenario };
}
