import { useEffect, useMemo, useRef } from "react";
import { useSearchParams } from "react-router";

type Filter<Name extends string> = { readonly [Key in Name]?: string };

/**
 * What a list is narrowed to, kept in the address, so that a link and a reload show the same.
 *
 * @param names a constant list
 * @returns the filter, and what changes it; an empty value takes a part of it away
 */
export function useFilter<Name extends string>(
  names: readonly Name[],
): readonly [Filter<Name>, (changes: Filter<Name>) => void] {
  const [search, setSearch] = useSearchParams();
  const filter = useMemo(() => filterIn(names, search), [names, search]);
  // Of two changes that come close together, the second must not undo the first, which the address may not show yet.
  const wanted = useRef(filter);
  useEffect(() => {
    wanted.current = filter;
  }, [filter]);
  const change = (changes: Filter<Name>): void => {
    const entries = Object.entries<string | undefined>({ ...wanted.current, ...changes });
    wanted.current = Object.fromEntries(
      entries.filter(([, value]) => value !== undefined && value !== ""),
    ) as Filter<Name>;
    setSearch(wanted.current as Record<string, string>, { replace: true });
  };
  return [filter, change];
}

function filterIn<Name extends string>(names: readonly Name[], search: URLSearchParams): Filter<Name> {
  const entries = names.flatMap((name) => {
    const value = search.get(name);
    return value === null || value === "" ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries) as Filter<Name>;
}
