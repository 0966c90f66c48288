"""`torch.utils.data`: tensors in batches."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.factories import GENERATOR
from gradcheck.engine.tensor import Tensor
from gradcheck.ops import TABLE
from gradcheck.values import Params, Value


class Dataset:
    """Subclass it with `__len__` and `__getitem__`."""

    def __getitem__(self, place: Value) -> Value:
        raise NotImplementedError

    def __class_getitem__(cls, kind: Value) -> type:
        return cls


class TensorDataset(Dataset):
    """Rows of several tensors, side by side."""

    def __init__(self, *tensors: Tensor) -> None:
        if len({len(t) for t in tensors}) > 1:
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, place: Value) -> tuple[Tensor, ...]:
        return tuple(t[place] for t in self.tensors)


class DataLoader:
    """Examples in batches, in their order or shuffled anew at each turn."""

    def __init__(  # noqa: PLR0917 - PyTorch's signature
        self,
        dataset: Value,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Value = None,
        generator: Value = None,
        **silent: Value,
    ) -> None:
        """`num_workers` and their like say nothing here."""
        self.dataset, self.batch_size = dataset, batch_size
        self.shuffle, self.drop_last = shuffle, drop_last
        self.collate_fn = collate_fn or collate
        self.generator = generator

    def __len__(self) -> int:
        count = len(self.dataset)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Value]:
        places = list(range(len(self.dataset)))
        if self.shuffle:
            (self.generator or GENERATOR).rng.shuffle(places)
        for start in range(0, len(self) * self.batch_size, self.batch_size):
            batch = places[start : start + self.batch_size]
            yield self.collate_fn([self.dataset[k] for k in batch])


def collate(examples: Sequence[Value]) -> Value:
    """Examples as one batch: tensors stacked, numbers as a tensor, pairs part by part."""
    first = examples[0]
    if isinstance(first, Tensor):
        return TABLE["stack"](list(examples))
    if isinstance(first, Mapping):
        return {key: collate([each[key] for each in examples]) for key in first}
    if isinstance(first, tuple | list):
        return [collate(each) for each in zip(*examples, strict=True)]
    if isinstance(first, int | float | np.ndarray | np.generic):
        return tensor(np.array(examples))
    return list(examples)


DATA: Params = {
    "DataLoader": DataLoader,
    "Dataset": Dataset,
    "TensorDataset": TensorDataset,
    "default_collate": collate,
}
