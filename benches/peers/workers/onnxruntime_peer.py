"""ONNX Runtime on the model of a case. Inputs and results are bound to memory that is reused."""

import numpy as np
import onnxruntime as ort

ort.set_default_logger_severity(3)
VERSION = ort.__version__
TYPES = {
    "tensor(float)": "f4", "tensor(double)": "f8", "tensor(uint8)": "u1", "tensor(bool)": "?", "tensor(int64)": "i8",
}


def place(arrays):
    return [(array, ort.OrtValue.ortvalue_from_numpy(array)) for array in arrays]


def make(case, placed, fed, request):
    if request.get("model") is None:
        raise KeyError(case)
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(request["model"], options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    outputs = session.get_outputs()
    if any(not isinstance(size, int) for output in outputs for size in output.shape):
        feeds = {name: array for name, (array, _) in zip(names, placed)}
        return lambda: session.run(None, feeds)
    binding = session.io_binding()
    for name, (_, value) in zip(names, placed):
        binding.bind_ortvalue_input(name, value)
    results = []
    for output in outputs:
        dtype = TYPES[output.type]
        value = ort.OrtValue.ortvalue_from_shape_and_type(output.shape, np.dtype(dtype).type)
        binding.bind_ortvalue_output(output.name, value)
        results.append(value)

    def call():
        session.run_with_iobinding(binding)
        return results

    return call


def fetch(result):
    return [part if isinstance(part, np.ndarray) else part.numpy() for part in result]
