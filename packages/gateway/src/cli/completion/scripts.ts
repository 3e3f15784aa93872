import type { NameKind, Place, Word } from "./tree.ts";

/** For bash 3.2 and newer, without the package bash-completion. */
export function bashScript(places: readonly Place[]): string {
  return `# keywheel completion for bash. Put this line into ~/.bashrc:  source <(keywheel completion bash)
_keywheel_names() {
  local name bare="\${cur//\\\\/}"
  case "$bare" in [\\"\\']*) bare="\${bare:1}" ;; esac
  while IFS=$'\\t' read -r name _; do
    [[ $name != "$bare"* ]] || COMPREPLY+=("$name")
  done < <(command "\${COMP_WORDS[0]}" complete "$1" 2> /dev/null)
}
_keywheel() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" count=0 valued="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ -n $valued ]]; then valued=""; continue; fi
    case "\${path:+$path }\${COMP_WORDS[i]}" in
      ${pathPattern(places)}) path="\${path:+$path }\${COMP_WORDS[i]}"; continue ;;
    esac
    case "$path \${COMP_WORDS[i]}" in
${optionCases(places, ({ valued }) => valued, "valued=1; continue")}    esac
    [[ \${COMP_WORDS[i]} == -* ]] || count=$((count + 1))
  done
  COMPREPLY=()
  case "$path $prev" in
${optionCases(places, ({ filed }) => filed, 'COMPREPLY=($(compgen -f -- "$cur")); return')}${optionCases(places, ({ providers }) => providers, "_keywheel_names provider; return")}${optionCases(places, unknown, "return")}  esac
  if [[ $cur != -* ]]; then
    case "$path $count" in
${nameCases(places, (kind) => `_keywheel_names ${kind}; return`)}    esac
  fi
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
_keywheel_names() {
  local -a found
  found=(\${(f)"$(command \${(Q)words[1]} complete $1 2> /dev/null)"})
  found=(\${found%%$'\\t'*})
  (( $#found )) && compadd -a found
}
_keywheel() {
  local route="" word valued=""
  integer count=0
  local -a next flags
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ -n $valued ]]; then valued=""; continue; fi
    case "\${route:+$route }$word" in
      ${pathPattern(places)}) route="\${route:+$route }$word"; continue ;;
    esac
    case "$route $word" in
${optionCases(places, ({ valued }) => valued, "valued=1; continue")}    esac
    [[ $word == -* ]] || (( count += 1 ))
  done
  case "$route \${words[CURRENT-1]}" in
${optionCases(places, ({ filed }) => filed, "_files; return")}${optionCases(places, ({ providers }) => providers, "_keywheel_names provider; return")}${optionCases(places, unknown, "return 1")}  esac
  if [[ $PREFIX != -* ]]; then
    case "$route $count" in
${nameCases(places, (kind) => `_keywheel_names ${kind}; return`)}    esac
  fi
  case "$route" in
${places.map((place) => `    ${quoted(place.path)})\n      next=(${zshWords(place.words)})\n      flags=(${zshWords(place.options)})${place.takesFile ? "\n      [[ $PREFIX == -* ]] || _files" : ""} ;;\n`).join("")}  esac
  (( $#next )) && [[ $PREFIX != -* ]] && _describe -t commands 'command' next
  [[ $PREFIX == -* || $#next -eq 0 ]] && _describe -t options 'option' flags
}
(( $+functions[compdef] )) && compdef _keywheel keywheel
`;
}

/** What stands in a `case` over "<path> <how many words are behind it>". */
function nameCases(places: readonly Place[], act: (kind: NameKind) => string): string {
  return places
    .flatMap(({ path, names, takesSeveral }) =>
      names === undefined ? [] : `      ${quoted(`${path} `)}${takesSeveral ? "*" : "0"}) ${act(names)} ;;\n`,
    )
    .join("");
}

function zshWords(words: readonly Word[]): string {
  return words.map(({ word, meaning }) => quoted(`${word.replaceAll(":", "\\:")}:${meaning}`)).join(" ");
}

export function fishScript(places: readonly Place[]): string {
  const lines = places.flatMap((place) => {
    const at = `-n ${quoted(`__keywheel_at ${quoted(place.path)}`)}`;
    const first = `-n ${quoted(`__keywheel_at ${quoted(place.path)}${place.takesSeveral ? "" : " 0"}`)}`;
    const valued = new Set(place.valued);
    const filed = new Set(place.filed);
    return [
      ...(place.takesFile
        ? [
            `complete -c keywheel ${place.names === undefined ? at : `-n ${quoted(`__keywheel_at ${quoted(place.path)} 1`)}`} -F`,
          ]
        : []),
      ...(place.names === undefined ? [] : [`complete -c keywheel ${first} -a '(__keywheel_names ${place.names})'`]),
      ...place.words.map(({ word, meaning }) => `complete -c keywheel ${at} -a ${fish(word)} -d ${fish(meaning)}`),
      ...place.options.map(({ word, meaning }) => {
        const named = place.providers.includes(word) ? " -a '(__keywheel_names provider)'" : "";
        const value = filed.has(word) ? " -r -F" : valued.has(word) ? ` -x${named}` : "";
        return `complete -c keywheel ${at} -l ${word.replace(/^--/, "")}${value} -d ${fish(meaning)}`;
      }),
    ];
  });
  return `# keywheel completion for fish. Put this line into ~/.config/fish/config.fish:  keywheel completion fish | source
function __keywheel_names
    command keywheel complete $argv[1] 2> /dev/null
end
function __keywheel_at
    set -l route
    set -l count 0
    set -l valued
    for word in (commandline -opc)[2..]
        if test -n "$valued"
            set valued
            continue
        end
        set -l longer (string trim -- "$route $word")
        switch $longer
            case ${places
              .filter(({ path }) => path !== "")
              .map(({ path }) => fish(path))
              .join(" ")}
                set route $longer
                continue
        end
        switch "$route $word"
            case ${places.flatMap(({ path, valued }) => valued.map((option) => fish(`${path} ${option}`))).join(" ")}
                set valued 1
            case '* -*'
            case '*'
                set count (math $count + 1)
        end
    end
    test "$route" = "$argv[1]"; and test -z "$argv[2]" -o "$count" = "$argv[2]"
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

/** Options whose value nobody here can know. */
function unknown({ valued, filed, providers }: Place): readonly string[] {
  return valued.filter((option) => !filed.includes(option) && !providers.includes(option));
}

/** For shells of the Bourne family. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function fish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", String.raw`\'`)}'`;
}
