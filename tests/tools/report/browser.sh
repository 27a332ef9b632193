# Sourced by tests that check pages. `browser` is a headless Chromium, empty if there is none.
browser=''
for name in "${CHROMIUM:-}" chromium-headless-shell chrome-headless-shell headless_shell; do
  if [[ -n $name ]] && command -v "$name" >/dev/null; then
    browser=$name
    break
  fi
done

# browse WIDTH SCHEME FILE: opens the file in a window of this width, light or dark, and prints the resulting page.
# Chromium's log, with messages of its console, goes to $folder/browser_log.
browse() {
  local dark=1
  if [[ $2 == dark ]]; then dark=0; fi
  timeout 60 "$browser" --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$folder/profile" \
    --enable-logging=stderr --v=0 --window-size="$1,900" --blink-settings=preferredColorScheme=$dark \
    --virtual-time-budget=5000 --dump-dom "file://$3" 2>"$folder/browser_log"
}

# console_messages: the console messages of the last opened page.
console_messages() { grep -F 'CONSOLE' "$folder/browser_log" || true; }
