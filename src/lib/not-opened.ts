/**
 * A file that cannot be opened for writing, told so that whoever named it can mend it.
 */

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'may not be written by this process',
  EPERM: 'may not be written by this process',
  EISDIR: 'is a folder',
  ENOENT: 'is in a folder that cannot be made',
  ENOTDIR: 'is below something that is no folder',
  EEXIST: 'is below something that is no folder',
  EROFS: 'is on a file system that can only be read',
  ENOSPC: 'is on a disk that is full',
  ENXIO: 'is no file that can be written',
  ELOOP: 'is a link that leads in a circle',
};

/** The message says why, the file first. */
export class FileNotOpened extends Error {
  readonly file: string;
  /** The system's: `EACCES`, … */
  readonly code: string;

  /** @param cause what opening it has thrown: an error of the system */
  constructor(file: string, cause: Error & { readonly code: unknown }) {
    const code = String(cause.code);
    super(`${file} ${REASONS[code] ?? `cannot be opened (${code})`}`, { cause });
    this.file = file;
    this.code = code;
  }
}
