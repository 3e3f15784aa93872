import type { Place, Word } from "./tree.ts";

/** For bash 3.2 and newer, without the package bash-completion. */
export function bashScript(places: readonly Place[]): string {
  return `# keywheel completion for bash. Put this line into ~/.bashrc:  source <(keywheel completion bash)
_keywheel() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${path:+$path }\${COMP_WORDS[i]}" in
      ${pathPattern(places)}) path="\${path:+$path }\${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$path $prev" in
${optionCases(places, ({ filed }) => filed, 'COMPREPLY=($(compgen -f -- "$cur")); return')}${optionCases(places, unfiled, "return")}  esac
  case "$path" in
${places.map((place) => `    ${quoted(place.path)}) ${bashReply(place)} ;;\n`).join("")}  esac
}
complete -o filenames -o bashdefault -F _keywheel keywheel
`;
}

function bashReply({ words, options, takesFile }: Place): string {
  const all = [...words, ...options].map(({ word }) => word).join(" ");
  const files = takesFile ? ' [[ $cur == -* ]] || COMPREPLY+=($(compgen -f -- "$cur"))' : "";
  return `COMPREPLY=($(compgen -W ${quoted(all)} -- "$cur"));${files}`.replace(/;$/, "");
}

export function zshScript(places: readonly Place[]): string {
  return `#compdef keywheel
# keywheel completion for zsh. Put this line into ~/.zshrc, behind compinit:  source <(keywheel completion zsh)
_keywheel() {
  local route="" word
  local -a next flags
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${route:+$route }$word" in
      ${pathPattern(places)}) route="\${route:+$route }$word" ;;
    esac
  done
  case "$route \${words[CURRENT-1]}" in
${optionCases(places, ({ filed }) => filed, "_files; return")}${optionCases(places, unfiled, "return 1")}  esac
  case "$route" in
${places.map((place) => `    ${quoted(place.path)})\n      next=(${zshWords(place.words)})\n      flags=(${zshWords(place.options)})${place.takesFile ? "\n      [[ $PREFIX == -* ]] || _files" : ""} ;;\n`).join("")}  esac
  (( $#next )) && [[ $PREFIX != -* ]] && _describe -t commands 'command' next
  [[ $PREFIX == -* || $#next -eq 0 ]] && _describe -t options 'option' flags
}
(( $+functions[compdef] )) && compdef _keywheel keywheel
`;
}

function zshWords(words: readonly Word[]): string {
  return words.map(({ word, meaning }) => quoted(`${word.replaceAll(":", "\\:")}:${meaning}`)).join(" ");
}

export function fishScript(places: readonly Place[]): string {
  const lines = places.flatMap((place) => {
    const at = `-n ${quoted(`__keywheel_at ${quoted(place.path)}`)}`;
    const valued = new Set(place.valued);
    const filed = new Set(place.filed);
    return [
      ...(place.takesFile ? [`complete -c keywheel ${at} -F`] : []),
      ...place.words.map(({ word, meaning }) => `complete -c keywheel ${at} -a ${fish(word)} -d ${fish(meaning)}`),
      ...place.options.map(({ word, meaning }) => {
        const value = filed.has(word) ? " -r -F" : valued.has(word) ? " -x" : "";
        return `complete -c keywheel ${at} -l ${word.replace(/^--/, "")}${value} -d ${fish(meaning)}`;
      }),
    ];
  });
  return `# keywheel completion for fish. Put this line into ~/.config/fish/config.fish:  keywheel completion fish | source
function __keywheel_at
    set -l route
    for word in (commandline -opc)[2..]
        set -l longer (string trim -- "$route $word")
        switch $longer
            case ${places
              .filter(({ path }) => path !== "")
              .map(({ path }) => fish(path))
              .join(" ")}
                set route $longer
        end
    end
    test "$route" = "$argv[1]"
end
complete -c keywheel -f
${lines.join("\n")}
`;
}

function pathPattern(places: readonly Place[]): string {
  return places
    .filter(({ path }) => path !== "")
    .map(({ path }) => quoted(path))
    .join(" | ");
}

function optionCases(places: readonly Place[], optionsOf: (place: Place) => readonly string[], act: string): string {
  const all = places.flatMap((place) => optionsOf(place).map((option) => quoted(`${place.path} ${option}`)));
  return all.length === 0 ? "" : `    ${all.join(" | ")}) ${act} ;;\n`;
}

function unfiled({ valued, filed }: Place): readonly string[] {
  return valued.filter((option) => !filed.includes(option));
}

/** For shells of the Bourne family. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function fish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", String.raw`\'`)}'`;
}
