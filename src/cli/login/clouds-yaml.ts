/**
 * `clouds.yaml`, where OpenStack's users keep their logins, and `secure.yaml`, which is merged over it so that secrets
 * may lie elsewhere. The first file found counts, as for the `openstack` command. Every value is read as the text
 * that stands there: a project id of digits is no number.
 * https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { LineCounter, parseDocument, visit } from 'yaml';
import { reasonOf } from '../../lib/file-errors.ts';
import { UNUSABLE_ALIASES, yamlMistake } from '../../lib/yaml-mistake.ts';
import { LoginError, type Terminal } from './credential-source.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface CloudsOptions {
  readonly env: Terminal['env'];
  /** Where relative names begin. */
  readonly folder: string;
  /** Absolute; for tests. */
  readonly siteFolders?: readonly string[];
}

const SUFFIXES = ['yaml', 'yml', 'json'];
const SITE_FOLDERS = ['/etc/xdg/openstack', '/etc/openstack'];

/**
 * What stands under the cloud's name, `auth` and all, in one level; an underscore for each hyphen.
 *
 * @param name without it the only cloud there is, if there is only one
 * @returns undefined where no cloud is named and there is no file
 * @throws LoginError where the cloud is not there or a file cannot be understood; quotes nothing of it
 */
export async function readCloud(
  name: string | undefined,
  options: CloudsOptions,
): Promise<Readonly<Record<string, string>> | undefined> {
  const { clouds, siblings, place } = await readClouds(options);
  const names = Object.keys(clouds);
  if (name === undefined && names.length === 0) return undefined;
  const chosen = name ?? (names.length === 1 ? names[0] : undefined);
  const there = names.length === 0 ? 'none' : names.join(', ');
  if (chosen === undefined)
    throw new LoginError(`which cloud? ${place} has ${there}: name one with --os-cloud or OS_CLOUD`);
  if (!Object.hasOwn(clouds, chosen))
    throw new LoginError(`no cloud ${JSON.stringify(chosen)} in ${place}; there is ${there}`);
  const cloud = section(clouds, chosen);
  return flatten(merge(await profileOf(cloud, options.folder, siblings), cloud));
}

interface Clouds {
  /** By their names. */
  readonly clouds: Fields;
  /** Whether there is a file of them. */
  readonly found: boolean;
  /** The file, or where one was looked for; in words. */
  readonly place: string;
  /** Where files lie that may be combined with it. */
  readonly siblings: readonly string[];
}

/** @throws LoginError where a file cannot be understood; quotes nothing of it */
export async function readClouds(options: CloudsOptions): Promise<Clouds> {
  const { env, folder } = options;
  const own = ownFolders(options);
  // kubectl runs this in whatever folder a person stands in: what lies there may be a stranger's.
  const folders = env.KUBERNETES_EXEC_INFO === undefined ? [folder, ...own] : own;
  const file = await readFirst('clouds', env.OS_CLIENT_CONFIG_FILE, folder, folders);
  // Secrets of one place never go to an address that another place names, nor the other way round.
  const siblings =
    file !== undefined && dirname(file.path) === folder && !env.OS_CLIENT_CONFIG_FILE ? [folder] : own;
  const secure = await readFirst('secure', env.OS_CLIENT_SECURE_FILE, folder, siblings);
  return {
    clouds: merge(section(file?.content, 'clouds'), section(secure?.content, 'clouds')),
    found: (file ?? secure) !== undefined,
    place: file?.path ?? `clouds.yaml (looked in ${folders.join(', ')})`,
    siblings,
  };
}

/** What a provider publishes about its cloud, for many people's files to build on. */
async function profileOf(cloud: Fields, folder: string, folders: readonly string[]): Promise<Fields> {
  const { profile = cloud.cloud } = cloud;
  if (typeof profile !== 'string' || profile === '') return {};
  const file = await readFirst('clouds-public', undefined, folder, folders);
  return section(section(file?.content, 'public-clouds'), profile);
}

async function readFirst(
  stem: string,
  given: string | undefined,
  folder: string,
  folders: readonly string[],
): Promise<{ path: string; content: unknown } | undefined> {
  const usual = folders.flatMap((each) => SUFFIXES.map((suffix) => join(each, `${stem}.${suffix}`)));
  for (const path of given ? [resolve(folder, given), ...usual] : usual) {
    const text = await readIfPossible(path);
    if (text !== undefined) return { path, content: parse(path, text) };
  }
  return undefined;
}

/** Of the person and of the site. */
function ownFolders({ env, siteFolders = SITE_FOLDERS }: CloudsOptions): string[] {
  const home = env.HOME || homedir();
  const configured = env.XDG_CONFIG_HOME ?? '';
  const own = [isAbsolute(configured) ? [configured] : [], [join(home, '.config')]].flat();
  return [...new Set(own.map((each) => join(each, 'openstack'))), ...siteFolders];
}

/** One that may not be read is passed over, as one that is not there. */
async function readIfPossible(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOTDIR') return undefined;
    throw new LoginError(`cannot read ${path}: ${reasonOf(error)}`);
  }
}

/** Only the place of a mistake is said: the parser's own words may quote a password. */
function parse(path: string, text: string): unknown {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    schema: 'failsafe',
    merge: true,
    lineCounter: lines,
    prettyErrors: false,
  });
  const [mistake] = document.errors;
  if (mistake !== undefined) {
    const { line } = lines.linePos(mistake.pos[0]);
    throw new LoginError(`${path} is no valid YAML (line ${line}): ${yamlMistake(mistake.code)}`);
  }
  visit(document, {
    Scalar(_key, node) {
      if (node.type === 'PLAIN' && /^(?:~|null|Null|NULL)$/.test(node.source ?? '')) node.value = '';
    },
  });
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch {
    throw new LoginError(`${path} is no usable YAML: ${UNUSABLE_ALIASES}`);
  }
}

function merge(under: Fields, over: Fields): Fields {
  const merged = new Map(Object.entries(under));
  for (const [key, value] of Object.entries(over)) {
    const before = merged.get(key);
    merged.set(key, isFields(before) && isFields(value) ? merge(before, value) : value);
  }
  return Object.fromEntries(merged);
}

function flatten({ auth, ...cloud }: Fields): Readonly<Record<string, string>> {
  const all = [...Object.entries(cloud), ...Object.entries(isFields(auth) ? auth : {})];
  return Object.fromEntries(
    all.flatMap(([key, value]) => (typeof value === 'string' ? [[key.replaceAll('-', '_'), value]] : [])),
  );
}

function section(value: unknown, name: string): Fields {
  if (!isFields(value) || !Object.hasOwn(value, name)) return {};
  const found = value[name];
  return isFields(found) ? found : {};
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
