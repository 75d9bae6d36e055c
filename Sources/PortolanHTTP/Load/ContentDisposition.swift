enum ContentDisposition { static func filename(_ s: String) -> String? { nil } }
