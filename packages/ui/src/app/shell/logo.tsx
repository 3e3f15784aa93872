import type { ReactNode } from "react";

/** A wheel of three keys. */
export function Logo({ size }: { readonly size: number }): ReactNode {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <g fill="none" strokeWidth={6}>
        <path stroke="var(--mantine-color-cyan-7)" d="M16 5a11 11 0 0 1 9.53 16.5" />
        <path stroke="var(--mantine-color-orange-6)" d="M24.3 23.2a11 11 0 0 1-16.6 0" />
        <path stroke="var(--mantine-color-violet-6)" d="M6.47 21.5A11 11 0 0 1 13.9 5.2" />
      </g>
      <circle cx={16} cy={16} r={3.2} fill="var(--mantine-color-cyan-7)" />
    </svg>
  );
}
