/**
 * That something was broken off because there was more of it than is taken. An error of its own, for whoever can ask for
 * less.
 */
export class TooLarge extends Error {}
