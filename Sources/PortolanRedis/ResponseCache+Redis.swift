// SPDX-License-Identifier: Apache-2.0

#if Redis
    public import PortolanCache

    extension ResponseCache {
        /// Makes a cache on a server. It connects when the first load uses the cache.
        ///
        /// While the server is unavailable or slow, loads do not use the cache, and do not fail.
        public convenience init(redis configuration: RedisCacheConfiguration) {
            self.init(store: RedisCacheStore(configuration))
        }
    }
#endif
