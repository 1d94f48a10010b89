/**
 * A page of the portal, with its data, its forms and its place in the navigation. A feature gives it; the
 * portal knows the user's session, and what the browser sends and gets.
 */
import type { StatusError } from '../errors/status-error.ts';
import type { HeaderField } from '../lib/header-list.ts';
import type { Content, Html } from '../lib/html.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { OwnResource } from './own-api.ts';

export interface PortalPage<V extends Visit = Visit> {
  readonly path: string;
  /** What links to it say, and where they are among the others; absent: nothing links to it. */
  readonly navigation?: { readonly label: string; readonly order: number };
  /** The request that is audited and charged for the page. */
  readonly standsFor: (query: URLSearchParams) => OwnRequest;
  /** The query with which the page is shown if the browser's names no object; undefined for the browser's. */
  readonly preselect?: (visit: V) => Promise<Readonly<Record<string, string>> | undefined>;
  readonly show: (visit: V) => PageContent | Promise<PageContent>;
  /** The request of each action of the page's forms, their fields `do`; a form with any other is refused. */
  readonly actions?: Readonly<Record<string, (form: URLSearchParams, query: URLSearchParams) => OwnRequest>>;
  /** Does what a form asks for; a StatusError is shown above the form. */
  readonly act?: (form: URLSearchParams, visit: V) => Promise<Done>;
  /** The targets with a query to which a browser may return after signing in, besides the path. */
  readonly targets?: RegExp;
  /**
   * Present if `PATH/SECRET` is a link to the page. Its secret goes from the URL into a sealed cookie at
   * once, so that it is in no address, history or referrer of a page, and survives signing in.
   *
   * @returns what the sign-in page says to those who have followed the link; undefined if nothing
   */
  readonly greeting?: (secret: string) => Content;
  /** What the start page says of it beside the ways to set up kubectl. */
  readonly setUpHint?: Html;
}

/** The request of Stonegate's own API that a page, or a form of it, stands for. */
export interface OwnRequest {
  readonly verb: 'list' | 'create' | 'update' | 'delete';
  readonly resource: Pick<OwnResource, 'name'>;
  readonly namespace?: string;
  readonly name?: string;
}

/** The state of a page's forms. */
export interface Forms {
  /** Where they are posted: the page itself, with its query. */
  readonly target: string;
  readonly formToken: string;
  readonly flash: Flash | undefined;
  /** Why the last form was refused; its causes name the fields to correct. */
  readonly refusal: Pick<StatusError, 'message' | 'details'> | undefined;
  /** What was entered in a form that was refused; else empty. */
  readonly entered: URLSearchParams;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface Visit extends Forms {
  readonly path: string;
  readonly identity: Identity;
  readonly account: PageAccount;
  /** The fields of the request's query that the page has a meaning for; its forms are sent there. */
  readonly query: URLSearchParams;
  /** What the rows of lists have in their names; empty for all rows. */
  readonly filter: string;
  /** The secret of the link that the browser has followed. */
  readonly secret: string | undefined;
  /** How something is changed for this request. */
  readonly change: {
    readonly origin: { readonly auditID: string; readonly clientAddress: string };
    readonly signal: AbortSignal;
  };
}

/** The user in the current configuration, as in the API's own `selfidentity` response. */
export interface PageAccount {
  readonly tenant: string;
  readonly username: string;
  readonly project: AccountProject | undefined;
  readonly roles: readonly string[];
  readonly otherProjects: readonly AccountProject[];
}

export interface AccountProject {
  readonly id: string;
  readonly name: string;
  /** Undefined if Stonegate makes none. */
  readonly namespace?: string | undefined;
}

export interface PageContent {
  readonly title: string;
  /** Defaults to the title. */
  readonly heading?: Content;
  readonly lead?: Content;
  readonly main: Content;
  readonly narrow?: boolean;
  /** Renders a secret that is shown once. */
  readonly secret?: (text: string) => Html;
  /** Replaces the reason why a form was refused. */
  readonly question?: Html | undefined;
}

/** The message that a page shows once after its form was done. */
export interface Flash {
  readonly text: string;
  readonly secret?: string;
}

export interface Done extends Flash {
  /** Sent in place of the page, which has the text of the flash when it is shown next. */
  readonly kubeconfig?: TokenAccess;
}

/** What a kubeconfig with an access token is made of. */
export interface TokenAccess {
  /** Of the token. */
  readonly name: string;
  readonly token: string;
  readonly namespace: string | undefined;
}

export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly text: string;
  /** Text of the issuer or the API, shown as a quotation. */
  readonly quote?: string;
  /** A link to continue with; with fields, a form that sends them again. */
  readonly action: { readonly label: string; readonly target: string; readonly fields?: URLSearchParams };
  readonly headers?: readonly HeaderField[];
}

/** Thrown by a page or a handler; `problem` becomes the page. */
export class PortalProblem extends Error {
  readonly problem: Problem;
  /** The refusal of another part that it shows. */
  readonly refusal: StatusError | undefined;

  constructor(problem: Problem, refusal?: StatusError) {
    super(problem.title);
    this.problem = problem;
    this.refusal = refusal;
  }

  /** Returns the problem with a further header. */
  with(header: HeaderField): PortalProblem {
    const headers = [...(this.problem.headers ?? []), header];
    return new PortalProblem({ ...this.problem, headers }, this.refusal);
  }
}
