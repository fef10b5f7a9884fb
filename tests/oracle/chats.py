"""Conversations rendered by transformers with chat templates as models are published with them."""
import json
import random

from transformers.utils.chat_template_utils import render_jinja_template

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
          "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
TEMPLATES = {
    "chatml": (CHATML, "", "<|im_end|>", True),
    "qwen": ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a "
             "helpful assistant.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
             "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}", "",
             "<|im_end|>", True),
    "llama2": ("{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = "
               "messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"
               "{% for message in loop_messages %}{% if loop.index0 == 0 and system_message != false %}{% set content = "
               "'<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = "
               "message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + "
               "' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}"
               "{% endfor %}", "<s>", "</s>", True),
    "llama3": ("{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + "
               "message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
               "{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ "
               "'<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}", "<|begin_of_text|>", "<|eot_id|>", True),
    "llama3.1": ("{{- bos_token }}{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content']|trim %}"
                 "{%- set messages = messages[1:] %}{%- else %}{%- set system_message = '' %}{%- endif %}"
                 "{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' }}{{- 'Cutting Knowledge Date: December 2023\\n' }}"
                 "{{- 'Today Date: 26 Jul 2024\\n\\n' }}{{- system_message }}{{- '<|eot_id|>' }}{%- for message in messages %}"
                 "{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + "
                 "'<|eot_id|>' }}{%- endfor %}{%- if add_generation_prompt %}{{- "
                 "'<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}", "<|begin_of_text|>", "<|eot_id|>", True),
    "mistral-0.1": ("{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ '[INST] ' + "
                    "message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + "
                    "eos_token + ' ' }}{% endif %}{% endfor %}", "<s>", "</s>", False),
    "mistral-0.2": ("{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ '[INST] ' + "
                    "message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + "
                    "eos_token}}{% endif %}{% endfor %}", "<s>", "</s>", False),
    "mistral-0.3": ("{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ '[INST] ' + "
                    "message['content'] + '[/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'] + "
                    "eos_token}}{% endif %}{% endfor %}", "<s>", "</s>", False),
    "gemma": ("{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}"
              "{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim "
              "+ '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}", "<bos>",
              "<eos>", False),
    "gemma3": ("{{ bos_token }}{%- if messages[0]['role'] == 'system' -%}{%- set first_user_prefix = messages[0]['content'] + '\n\n' "
               "-%}{%- set loop_messages = messages[1:] -%}{%- else -%}{%- set first_user_prefix = '' -%}{%- set loop_messages = "
               "messages -%}{%- endif -%}{%- for message in loop_messages -%}{%- if (message['role'] == 'assistant') -%}{%- set role "
               "= 'model' -%}{%- else -%}{%- set role = message['role'] -%}{%- endif -%}{{ '<start_of_turn>' + role + '\n' + "
               "(first_user_prefix if loop.first else '') }}{{ message['content'] | trim }}{{ '<end_of_turn>\n' }}{%- endfor -%}"
               "{%- if add_generation_prompt -%}{{'<start_of_turn>model\n'}}{%- endif -%}", "<bos>", "<eos>", True),
    "phi3": ("{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}"
             "{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == "
             "'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}{% if "
             "add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}", "<s>", "<|endoftext|>", True),
}
ALTERNATING = ("{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}{%- set loop_messages = "
               "messages[1:] %}{%- else %}{%- set loop_messages = messages %}{%- endif %}{{- bos_token }}"
               "{%- for message in loop_messages %}{%- if message['role'] == 'user' %}")
QWEN = ("{{- '<|im_start|>assistant\n' }}", "{%- for message in messages %}{%- if message.role == 'user' or message.role == 'system' %}"
        "{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}")
THOUGHTS = ("{%- elif message.role == 'assistant' %}{%- set content = message.content %}{%- set reasoning_content = '' %}"
            "{%- if '</think>' in content %}{%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1]"
            ".lstrip('\n') %}{%- set content = content.split('</think>')[-1].lstrip('\n') %}{%- endif %}{%- if loop.index0 == messages|length - 1 "
            "and (loop.last or (not loop.last and reasoning_content)) %}"
            "{{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + "
            "content.lstrip('\n') }}{%- else %}{{- '<|im_start|>' + message.role + '\n' + content }}{%- endif %}"
            "{{- '<|im_end|>\n' }}{%- endif %}{%- endfor %}{%- if add_generation_prompt %}")
PHI_OLD = ("{% for message in messages %}{% if (message['role'] == 'user') %}{{'<|user|>' + '\n' + message['content'] + '<|end|>' + '\n' + "
           "'<|assistant|>' + '\n'}}{% elif (message['role'] == 'assistant') %}{{message['content'] + '<|end|>' + '\n'}}{% endif %}"
           "{% endfor %}")
TEMPLATES |= {
    "chatml-trim": (CHATML.replace("message['content']", "message['content'] | trim"), "", "<|im_end|>", True),
    "chatml-qwen3": (QWEN[1] + THOUGHTS + QWEN[0] + "{%- if enable_thinking is defined and enable_thinking is false %}"
                     "{{- '<think>\n\n</think>\n\n' }}{%- endif %}{%- endif %}", "", "<|im_end|>", True),
    "chatml-thinking": (QWEN[1] + THOUGHTS + "{{- '<|im_start|>assistant\n<think>\n' }}{%- endif %}", "", "<|im_end|>", True),
    "chatml-qwq": (QWEN[1] + "{%- elif message.role == 'assistant' %}{%- set content = message.content.split('</think>')[-1].lstrip('\n') %}"
                   "{{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}{%- endif %}{%- endfor %}"
                   "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n<think>\n' }}{%- endif %}", "", "<|im_end|>", True),
    "mistral-0.2-system": (ALTERNATING + "{%- if loop.first and system_message is defined %}{{- ' [INST] ' + system_message + '\n\n' + "
                           "message['content'] + ' [/INST]' }}{%- else %}{{- ' [INST] ' + message['content'] + ' [/INST]' }}{%- endif %}"
                           "{%- elif message['role'] == 'assistant' %}{{- ' ' + message['content'] + eos_token}}{%- endif %}{%- endfor %}",
                           "<s>", "</s>", True),
    "mistral-0.3-late": (ALTERNATING.replace("'", '"') + '{%- if loop.last and system_message is defined %}{{- "[INST] " + system_message + '
                         '"\\n\\n" + message["content"] + "[/INST]" }}{%- else %}{{- "[INST] " + message["content"] + "[/INST]" }}'
                         '{%- endif %}{%- elif message["role"] == "assistant" %}{{- " " + message["content"]|trim + eos_token}}'
                         '{%- endif %}{%- endfor %}', "<s>", "</s>", True),
    "mistral-nemo": (ALTERNATING + "{%- if loop.last and system_message is defined %}{{- '[INST]' + system_message + '\n\n' + "
                     "message['content'] + '[/INST]' }}{%- else %}{{- '[INST]' + message['content'] + '[/INST]' }}{%- endif %}"
                     "{%- elif message['role'] == 'assistant' %}{{- message['content'] + eos_token}}{%- endif %}{%- endfor %}",
                     "<s>", "</s>", True),
    "phi3-old": ("{{ bos_token }}" + PHI_OLD, "<s>", "<|endoftext|>", False),
    "phi3-medium": (PHI_OLD, "<s>", "<|endoftext|>", False),
    "phi3-small": ("{{ bos_token }}{% for message in messages %}{{'<|' + message['role'] + '|>' + '\n' + message['content'] + '<|end|>\n' }}"
                   "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}", "<s>",
                   "<|endoftext|>", True),
    "phi3-tight": ("{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
                   "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}", "<s>", "<|endoftext|>", True),
    "phi4": ("{% for message in messages %}{% if (message['role'] == 'system') %}{{'<|im_start|>system<|im_sep|>' + message['content'] + "
             "'<|im_end|>'}}{% elif (message['role'] == 'user') %}{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>'}}"
             "{% elif (message['role'] == 'assistant') %}{{'<|im_start|>assistant<|im_sep|>' + message['content'] + '<|im_end|>'}}"
             "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}", "", "<|im_end|>",
             True),
}
WORDS = ["Hello", "two\nlines", " a space before", "and behind ", "\n\tboth\n", "Grüße", "日本", "{{ braces }}", "it's \"quoted\"", "x"]


def make(folder):
    draw = random.Random(7)
    cases = []
    for name, (template, bos, eos, system) in TEMPLATES.items():
        for i in range(5):
            messages = [{"role": "system", "content": draw.choice(WORDS)}] if system and i % 2 else []
            for turn in range(draw.randint(1, 5)):
                said = " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 3)))
                messages.append({"role": "assistant" if turn % 2 else "user", "content": said})
            if "think" in template and i > 2:  # in the last answer, and in one before
                del messages[len(messages) - (messages[-1]["role"] == "assistant"):]
                messages.append({"role": "assistant", "content": "<think>\nHm.\n</think>\n\nSo."})
                messages += [{"role": "user", "content": "Why?"}] * (i - 3)
            opened = messages[-1]["role"] == "user"
            text = render_jinja_template([messages], chat_template=template, add_generation_prompt=opened, bos_token=bos,
                                         eos_token=eos)[0][0]
            cases.append({"messages": messages, "open": opened, "text": text, "template": name})
    templates = {name: template for name, (template, *_) in TEMPLATES.items()}
    path = folder / "chats.json"
    path.write_text(json.dumps({"templates": templates, "cases": cases}, ensure_ascii=False, indent=None) + "\n")
    print(f"text/chats.json: {len(cases)} conversations, {path.stat().st_size} bytes")
