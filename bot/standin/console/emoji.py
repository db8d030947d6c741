"""Emoji by the names that Slack gives them. A workspace without emoji of its own knows no others."""

import re

from bot.standin.console.markup import escape, tag

NAME = re.compile(r":([a-z0-9_+'-]{1,100}):(?::skin-tone-([2-6]):)?")
_CODE_POINTS = re.compile(r"[0-9a-fA-F]{2,6}(?:-[0-9a-fA-F]{2,6}){0,9}")
_SKIN = 0x1F3FB - 2

DRAWN = (
    "white_check_mark",
    "heavy_check_mark",
    "x",
    "warning",
    "arrow_right",
    "arrow_forward",
    "grey_question",
    "hourglass_flowing_sand",
    "no_entry_sign",
    "shield",
    "wastebasket",
    "white_circle",
    "red_circle",
    "large_green_circle",
    "large_yellow_circle",
    "arrows_counterclockwise",
    "rotating_light",
    "lock",
    "information_source",
    "double_vertical_bar",
)
"""Those that ``emoji.svg`` has a drawing of, left to right; all others are left to the reader's fonts."""

_TABLE = """
+1 👍 thumbsup 👍 -1 👎 thumbsdown 👎 100 💯 wave 👋 clap 👏 pray 🙏 muscle 💪 ok_hand 👌
raised_hands 🙌 raised_hand ✋ hand ✋ point_right 👉 point_left 👈 point_up ☝️ point_up_2 👆
point_down 👇 eyes 👀 brain 🧠 smile 😄 smiley 😃 grinning 😀 grin 😁 joy 😂 laughing 😆 satisfied 😆
slightly_smiling_face 🙂 wink 😉 blush 😊 heart_eyes 😍 thinking_face 🤔 neutral_face 😐
sweat_smile 😅 sob 😭 cry 😢 scream 😱 rage 😡 confused 😕 tired_face 😫 sleeping 😴 zzz 💤
sunglasses 😎 nerd_face 🤓 robot_face 🤖 ghost 👻 skull 💀 facepalm 🤦 shrug 🤷 heart ❤️
broken_heart 💔 blue_heart 💙 green_heart 💚 yellow_heart 💛 star ⭐ star2 🌟 sparkles ✨ boom 💥
fire 🔥 tada 🎉 confetti_ball 🎊 trophy 🏆 medal 🏅 dart 🎯 gift 🎁 balloon 🎈 beers 🍻 coffee ☕
pizza 🍕 cake 🍰 white_check_mark ✅ heavy_check_mark ✔️ ballot_box_with_check ☑️ x ❌
negative_squared_cross_mark ❎ heavy_multiplication_x ✖️ warning ⚠️ exclamation ❗
heavy_exclamation_mark ❗ grey_exclamation ❕ question ❓ grey_question ❔ bangbang ‼️ interrobang ⁉️
no_entry ⛔ no_entry_sign 🚫 octagonal_sign 🛑 rotating_light 🚨 information_source ℹ️ sos 🆘 new 🆕
ok 🆗 up 🆙 cool 🆒 free 🆓 heavy_plus_sign ➕ heavy_minus_sign ➖ white_circle ⚪ black_circle ⚫
red_circle 🔴 large_blue_circle 🔵 large_green_circle 🟢 large_yellow_circle 🟡 large_orange_circle 🟠
large_purple_circle 🟣 large_brown_circle 🟤 large_red_square 🟥 large_green_square 🟩
large_yellow_square 🟨 large_blue_square 🟦 white_large_square ⬜ black_large_square ⬛
white_small_square ▫️ black_small_square ▪️ small_blue_diamond 🔹 small_orange_diamond 🔸
small_red_triangle 🔺 small_red_triangle_down 🔻 arrow_right ➡️ arrow_left ⬅️ arrow_up ⬆️
arrow_down ⬇️ arrow_upper_right ↗️ arrow_lower_right ↘️ arrow_forward ▶️ arrow_backward ◀️
arrow_up_small 🔼 arrow_down_small 🔽 fast_forward ⏩ rewind ⏪ arrow_right_hook ↪️
leftwards_arrow_with_hook ↩️ arrows_counterclockwise 🔄 arrows_clockwise 🔃 repeat 🔁
twisted_rightwards_arrows 🔀 double_vertical_bar ⏸️ pause_button ⏸️ black_square_for_stop ⏹️
stop_button ⏹️ black_circle_for_record ⏺️ black_right_pointing_double_triangle_with_vertical_bar ⏭️
play_or_pause_button ⏯️ eject ⏏️ back 🔙 end 🔚 soon 🔜 hourglass ⌛ hourglass_flowing_sand ⏳
stopwatch ⏱️ timer_clock ⏲️ alarm_clock ⏰ watch ⌚ clock1 🕐 clock12 🕛 clock3 🕒 calendar 📆 date 📅
spiral_calendar_pad 🗓️ crystal_ball 🔮 battery 🔋 electric_plug 🔌 zap ⚡ bulb 💡 shield 🛡️ lock 🔒
unlock 🔓 closed_lock_with_key 🔐 key 🔑 old_key 🗝️ wastebasket 🗑️ broom 🧹 package 📦 floppy_disk 💾
minidisc 💽 cd 💿 dvd 📀 computer 💻 desktop_computer 🖥️ keyboard ⌨️ printer 🖨️ iphone 📱
card_file_box 🗃️ file_cabinet 🗄️ card_index_dividers 🗂️ file_folder 📁 open_file_folder 📂
page_facing_up 📄 page_with_curl 📃 scroll 📜 clipboard 📋 memo 📝 pencil 📝 pencil2 ✏️ bookmark 🔖
bookmark_tabs 📑 label 🏷️ paperclip 📎 link 🔗 chains ⛓️ pushpin 📌 round_pushpin 📍
triangular_flag_on_post 🚩 scissors ✂️ chart_with_upwards_trend 📈 chart_with_downwards_trend 📉
bar_chart 📊 books 📚 book 📖 notebook 📓 newspaper 📰 mag 🔍 mag_right 🔎 microscope 🔬 telescope 🔭
satellite_antenna 📡 gear ⚙️ wrench 🔧 hammer 🔨 hammer_and_wrench 🛠️ nut_and_bolt 🔩 toolbox 🧰
magnet 🧲 ladder 🪜 construction 🚧 construction_worker 👷 bell 🔔 no_bell 🔕 loudspeaker 📢 mega 📣
speech_balloon 💬 thought_balloon 💭 left_speech_bubble 🗨️ incoming_envelope 📨 envelope ✉️ email 📧
inbox_tray 📥 outbox_tray 📤 mailbox 📫 telephone_receiver 📞 rocket 🚀 airplane ✈️ ship 🚢 anchor ⚓
car 🚗 ambulance 🚑 fire_engine 🚒 vertical_traffic_light 🚦 house 🏠 office 🏢 factory 🏭
globe_with_meridians 🌐 earth_africa 🌍 earth_americas 🌎 earth_asia 🌏 world_map 🗺️ sunny ☀️
partly_sunny ⛅ cloud ☁️ rain_cloud 🌧️ thunder_cloud_and_rain ⛈️ snowflake ❄️ umbrella ☂️ rainbow 🌈
ocean 🌊 seedling 🌱 herb 🌿 evergreen_tree 🌲 deciduous_tree 🌳 cactus 🌵 bug 🐛 ant 🐜 bee 🐝
snail 🐌 turtle 🐢 snake 🐍 whale 🐳 penguin 🐧 owl 🦉 dog 🐶 cat 🐱 mouse 🐭 unicorn_face 🦄
dragon 🐉 feather 🪶 bust_in_silhouette 👤 busts_in_silhouette 👥 technologist 🧑‍💻 detective 🕵️
cop 👮 man 👨 woman 👩 test_tube 🧪 dna 🧬 pill 💊 adhesive_bandage 🩹 stethoscope 🩺
crossed_swords ⚔️ bomb 💣 firecracker 🧨 one 1️⃣ two 2️⃣ three 3️⃣ four 4️⃣ five 5️⃣ six 6️⃣ seven 7️⃣
eight 8️⃣ nine 9️⃣ zero 0️⃣ keycap_ten 🔟 hash #️⃣
""".split()  # noqa: RUF001, SIM905 - signs are the point; as a list it would run over pages

EMOJI = dict(zip(_TABLE[::2], _TABLE[1::2], strict=True))


def emoji(name: str, skin: str = "") -> str | None:
    """An emoji as HTML, or None for a name that is not known."""
    shown = EMOJI.get(name)
    if shown is None:
        return None
    tone = chr(_SKIN + int(skin)) if skin else ""
    return _picture(shown + tone, name)


def emoji_of(name: str, code_points: str) -> str:
    """An emoji of rich text, which brings its code points along; its name where both are unknown."""
    if _CODE_POINTS.fullmatch(code_points):
        numbers = [int(part, 16) for part in code_points.split("-")]
        if all(number < 0xD800 or 0xE000 <= number <= 0x10FFFF for number in numbers):  # noqa: PLR2004 - Unicode's own
            return _picture("".join(map(chr, numbers)), name)
    return emoji(name) or escape(f":{name}:")


def with_emoji(text: str) -> str:
    """Plain text as HTML, with its emoji and line breaks."""
    parts, end = [], 0
    for found in NAME.finditer(text):
        picture = emoji(found[1], found[2] or "")
        if picture is not None:
            parts += [escape(text[end : found.start()]), picture]
            end = found.end()
    return "".join([*parts, escape(text[end:])]).replace("\n", "<br>")


def spoken(text: str) -> str:
    """Plain text with its emoji as characters, for places that take no HTML."""
    return NAME.sub(lambda found: EMOJI.get(found[1], found[0]), text)


def _picture(shown: str, name: str) -> str:
    drawn = f" emoji-drawn emoji-{name.replace('_', '-')}" if name in DRAWN else ""
    return tag(
        "span",
        escape(shown),
        class_=f"emoji{drawn}",
        role="img",
        aria_label=f"{name.replace('_', ' ')} emoji",
        title=f":{name}:",
    )
