"""Lines of the bench one by one: what fails in one does not end the others, and is listed at the end."""
import traceback


class Attempts:
    def __init__(self):
        self.failed = []  # title and reason of each

    def make(self, title, work, *arguments):
        """What the work gives; None where it failed, which is said at once. Ctrl-C is no failure."""
        try:
            return work(*arguments)
        except (Exception, SystemExit) as reason:
            what = (str(reason).strip() or type(reason).__name__).splitlines()[-1]
            self.failed.append(f"{title}: {what}")
            print(f"{title}: failed: {what}", flush=True)
            if not isinstance(reason, SystemExit):
                traceback.print_exc()
            return None

    def each(self, title, items):
        """The items as far as they can be made."""
        items = iter(items)
        while True:
            item = self.make(title, next, items, None)
            if item is None:
                return
            yield item

    def verdict(self, behind):
        """What to exit with: None when all lines were measured and none is behind."""
        lists = (("behind", behind), ("failed", self.failed))
        return "\n".join(f"{name}:\n  " + "\n  ".join(found) for name, found in lists if found) or None
