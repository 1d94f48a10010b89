/**
 * Reads `clouds.yaml`, `secure.yaml`, which is merged over it, and `clouds-public.yaml`, which has profiles.
 * As in the `openstack` command the first file found counts.
 * https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { hasCode, messageOf } from '../../lib/error-code.ts';
import { reasonOf } from '../../lib/file-errors.ts';
import { isJSONObject, type JSONObject, ownValue } from '../../lib/json-object.ts';
import { readYAML } from '../read-yaml.ts';
import { LoginError, type Terminal } from './credential-source.ts';
import type { Settings } from './keystone-settings.ts';

export interface CloudsOptions {
  readonly env: Terminal['env'];
  /** The base of relative names. */
  readonly folder: string;
  /** Absolute paths; for tests. */
  readonly siteFolders?: readonly string[];
}

const SUFFIXES = ['yaml', 'yml', 'json'];
const SITE_FOLDERS = ['/etc/xdg/openstack', '/etc/openstack'];

/**
 * The settings of a cloud with those of its profile, of its region (`OS_REGION_NAME`, else the first) and of
 * `auth`, in one level; hyphens become underscores.
 *
 * @param name default: the only cloud, if there is exactly one
 * @returns undefined if no cloud is named and there is no file
 * @throws LoginError if the cloud does not exist or a file is invalid; never quotes its content
 */
export async function readCloud(
  name: string | undefined,
  options: CloudsOptions,
): Promise<Settings | undefined> {
  const { clouds, place } = await readClouds(options);
  const names = Object.keys(clouds);
  if (name === undefined && names.length === 0) return undefined;
  const chosen = name ?? (names.length === 1 ? names[0] : undefined);
  const there = names.length === 0 ? 'none' : names.join(', ');
  if (chosen === undefined)
    throw new LoginError(`which cloud? ${place} has ${there}: name one with --os-cloud or OS_CLOUD`);
  const cloud = ownValue(clouds, chosen);
  if (cloud === undefined)
    throw new LoginError(`no cloud ${JSON.stringify(chosen)} in ${place}; there is ${there}`);
  if (cloud.problem !== undefined)
    throw new LoginError(`the cloud ${JSON.stringify(chosen)} ${cloud.problem}`);
  return cloud.settings;
}

interface Cloud {
  readonly settings: Settings;
  /** Why it cannot be used. */
  readonly problem: string | undefined;
}

interface Clouds {
  /** The clouds by their names. */
  readonly clouds: Readonly<Record<string, Cloud>>;
  /** Whether a file was found. */
  readonly found: boolean;
  /** The file, or the folders that were searched, for messages. */
  readonly place: string;
}

/** @throws LoginError if a file is invalid; never quotes its content */
export async function readClouds(options: CloudsOptions): Promise<Clouds> {
  const { env, folder } = options;
  const own = ownFolders(options);
  // kubectl runs the plugin in the user's working directory, whose files may belong to another user.
  const folders = env.KUBERNETES_EXEC_INFO === undefined ? [folder, ...own] : own;
  const file = await readFirst('clouds', env.OS_CLIENT_CONFIG_FILE, folder, folders);
  // Secrets of one place are never sent to an address from another place.
  const siblings =
    file !== undefined && dirname(file.path) === folder && !env.OS_CLIENT_CONFIG_FILE ? [folder] : own;
  const secure = await readFirst('secure', env.OS_CLIENT_SECURE_FILE, folder, siblings);
  const vendors = await readFirst('clouds-public', undefined, folder, siblings);
  const profiles = section(vendors?.content, 'public-clouds');
  const clouds = merge(section(file?.content, 'clouds'), section(secure?.content, 'clouds'));
  return {
    clouds: Object.fromEntries(
      Object.keys(clouds).map((name) => [
        name,
        resolveCloud(section(clouds, name), profiles, env.OS_REGION_NAME || undefined),
      ]),
    ),
    found: (file ?? secure) !== undefined,
    place: file?.path ?? `clouds.yaml (looked in ${folders.join(', ')})`,
  };
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

/** The folders of the user and of the site. */
function ownFolders({ env, siteFolders = SITE_FOLDERS }: CloudsOptions): string[] {
  const home = env.HOME || homedir();
  const configured = env.XDG_CONFIG_HOME ?? '';
  const own = [isAbsolute(configured) ? [configured] : [], [join(home, '.config')]].flat();
  return [...new Set(own.map((each) => join(each, 'openstack'))), ...siteFolders];
}

/** A file without read permission counts as missing. */
async function readIfPossible(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EACCES', 'ENOTDIR')) return undefined;
    throw new LoginError(`cannot read ${path}: ${reasonOf(error)}`);
  }
}

/** All values but null are strings, so that a project id of digits is not a number. */
function parse(path: string, text: string): unknown {
  try {
    return readYAML(text, path, { schema: 'failsafe', merge: true, customTags: (tags) => [...tags, 'null'] })
      .data;
  } catch (error) {
    throw new LoginError(messageOf(error));
  }
}

function merge(under: JSONObject, over: JSONObject): JSONObject {
  const merged = new Map(Object.entries(under));
  for (const [key, value] of Object.entries(over)) {
    const before = merged.get(key);
    merged.set(key, isJSONObject(before) && isJSONObject(value) ? merge(before, value) : value);
  }
  return Object.fromEntries(merged);
}

/**
 * What is nearer to the cloud counts first: the values of its region, its own, those of its profile. A
 * profile of another file stays a setting.
 */
function resolveCloud(cloud: JSONObject, profiles: JSONObject, wanted: string | undefined): Cloud {
  const { cloud: olderWord, profile = olderWord, ...own } = cloud;
  const isKnown = typeof profile === 'string' && Object.hasOwn(profiles, profile);
  const base = isKnown ? section(profiles, profile) : {};
  const { regions: listed = own.region_name === undefined ? base.regions : undefined } = own;
  const regions = (Array.isArray(listed) ? listed : []).map((each: unknown) =>
    isJSONObject(each) ? each : { name: each },
  );
  const region = regions.find(({ name }) => wanted === undefined || name === wanted);
  const values = region === undefined ? {} : section(region, 'values');
  return {
    settings: flatten(merge(merge({ ...base, ...(!isKnown && { profile }) }, own), values)),
    problem:
      region === undefined && regions.length > 0
        ? `has no region ${JSON.stringify(wanted)}; it has ${regions.map(({ name }) => name).join(', ')}`
        : undefined,
  };
}

function flatten({ auth, ...cloud }: JSONObject): Settings {
  const all = [...Object.entries(cloud), ...Object.entries(isJSONObject(auth) ? auth : {})];
  return Object.fromEntries(
    all.flatMap(([key, value]) => (typeof value === 'string' ? [[key.replaceAll('-', '_'), value]] : [])),
  );
}

function section(value: unknown, name: string): JSONObject {
  if (!isJSONObject(value) || !Object.hasOwn(value, name)) return {};
  const found = value[name];
  return isJSONObject(found) ? found : {};
}
