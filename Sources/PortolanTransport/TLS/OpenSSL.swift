// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL

/// The start of OpenSSL in this process.
enum OpenSSL {
    private static let hasStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

    /// Starts OpenSSL without its exit handler, unless the program has started it already: `OPENSSL_init_crypto(3)`.
    ///
    /// Call it before any other function of OpenSSL. The exit handler frees tables that the threads of connections can
    /// still use while `main` returns, and the error queue of a thread that ends after it is never freed.
    static func start() { _ = hasStarted }
}
