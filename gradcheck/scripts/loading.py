"""`torch.utils.data`: tensors in batches."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.factories import GENERATOR
from gradcheck.engine.tensor import Tensor
from gradcheck.ops import TABLE


class Dataset:
    """Subclass it with `__len__` and `__getitem__`."""

    def __getitem__(self, place: Any) -> Any:
        """One example."""
        raise NotImplementedError

    def __class_getitem__(cls, kind: Any) -> type:
        """`Dataset[Tensor]`."""
        return cls


class TensorDataset(Dataset):
    """Rows of several tensors, side by side."""

    def __init__(self, *tensors: Tensor) -> None:
        """Tensors of one length."""
        if len({len(t) for t in tensors}) > 1:
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, place: Any) -> tuple[Tensor, ...]:
        """The row of each."""
        return tuple(t[place] for t in self.tensors)


class Subset(Dataset):
    """Some examples of a data set."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        """By their places."""
        self.dataset, self.indices = dataset, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, place: Any) -> Any:
        """The example at the place of a place."""
        return self.dataset[int(self.indices[place])]


class DataLoader:
    """Examples in batches, in their order or shuffled anew at each turn."""

    def __init__(  # noqa: PLR0917 - PyTorch's signature
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        sampler: Any = None,
        drop_last: bool = False,
        collate_fn: Any = None,
        generator: Any = None,
        **silent: Any,
    ) -> None:
        """`num_workers` and their like say nothing here."""
        self.dataset, self.batch_size, self.sampler = dataset, batch_size, sampler
        self.shuffle, self.drop_last = shuffle, drop_last
        self.collate_fn = collate_fn or collated
        self.generator = generator

    def __len__(self) -> int:
        count = len(self.dataset)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        places = list(self.sampler if self.sampler is not None else range(len(self.dataset)))
        if self.shuffle:
            (self.generator or GENERATOR).rng.shuffle(places)
        for start in range(0, len(self) * self.batch_size, self.batch_size):
            batch = places[start : start + self.batch_size]
            yield self.collate_fn([self.dataset[k] for k in batch])


def collated(examples: Sequence[Any]) -> Any:
    """Examples as one batch: tensors stacked, numbers as a tensor, pairs part by part."""
    first = examples[0]
    if isinstance(first, Tensor):
        return TABLE["stack"](list(examples))
    if isinstance(first, Mapping):
        return {key: collated([each[key] for each in examples]) for key in first}
    if isinstance(first, tuple | list):
        return [collated(each) for each in zip(*examples, strict=True)]
    if isinstance(first, int | float | np.ndarray | np.generic):
        return tensor(np.array(examples))
    return list(examples)


def random_split(
    dataset: Any, lengths: Iterable[float], generator: Any = None
) -> tuple[Subset, ...]:
    """Parts of these lengths (or shares), drawn."""
    sizes = list(lengths)
    if abs(sum(sizes) - 1) < 1e-9:
        sizes = [int(share * len(dataset)) for share in sizes]
        sizes[0] += len(dataset) - sum(sizes)
    places = (generator or GENERATOR).rng.permutation(len(dataset))
    bounds = [int(sum(sizes[:k])) for k in range(len(sizes) + 1)]
    return tuple(Subset(dataset, places[a:b].tolist()) for a, b in pairwise(bounds))


DATA: Mapping[str, Any] = {
    "DataLoader": DataLoader,
    "Dataset": Dataset,
    "Subset": Subset,
    "TensorDataset": TensorDataset,
    "default_collate": collated,
    "random_split": random_split,
}
