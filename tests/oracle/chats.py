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
            opened = messages[-1]["role"] == "user"
            text = render_jinja_template([messages], chat_template=template, add_generation_prompt=opened, bos_token=bos,
                                         eos_token=eos)[0][0]
            cases.append({"messages": messages, "open": opened, "text": text, "template": name})
    templates = {name: template for name, (template, *_) in TEMPLATES.items()}
    path = folder / "chats.json"
    path.write_text(json.dumps({"templates": templates, "cases": cases}, ensure_ascii=False, indent=None) + "\n")
    print(f"text/chats.json: {len(cases)} conversations, {path.stat().st_size} bytes")
