"""transformers' losses of objects make the weights of classes in float32, whatever the model is: here in its type."""
from transformers.loss import loss_for_object_detection as losses

LABELS = losses.ImageLoss.loss_labels


def loss_labels(self, outputs, *rest):
    self.empty_weight = self.empty_weight.to(outputs["logits"].dtype)
    return LABELS(self, outputs, *rest)


losses.ImageLoss.loss_labels = loss_labels
