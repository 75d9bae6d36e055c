// SPDX-License-Identifier: Apache-2.0

#if Redis
    /// Scripts that read or change several values at once. The server executes a script without interruption.
    ///
    /// The first key of a script is the hash of a URL (``RedisKeys``), and the others are the epochs. An exception is
    /// ``release``: its key is a lease.
    enum RedisScripts {
        /// Returns the epochs, and the names and values of the hash. Omits each value that does not fit into the rest
        /// of the limit, and all values if the hash has more than 256.
        ///
        /// Arguments: the limit for the octets of all values together, and 1 to read the bodies, too.
        static let read = """
            local room, fields = tonumber(ARGV[1]), {}
            local epochs = redis.call('MGET', KEYS[2], KEYS[3], KEYS[4], KEYS[5])
            if redis.call('HLEN', KEYS[1]) <= 256 then
              for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
                local size = redis.call('HSTRLEN', KEYS[1], name)
                if size <= room and (ARGV[2] == '1' or string.sub(name, 1, 1) ~= 'b') then
                  room = room - size
                  fields[#fields + 1] = name
                  fields[#fields + 1] = redis.call('HGET', KEYS[1], name)
                end
              end
            end
            return {epochs, fields}
            """

        /// Creates the epochs that do not exist. Returns all epochs, and the mark of the last removal.
        ///
        /// Arguments: the value of new epochs, and their lifetime in milliseconds.
        static let open = """
            local epochs = {}
            for index = 2, 5 do
              if (redis.call('GET', KEYS[index]) or '') == '' then redis.call('SET', KEYS[index], ARGV[1], 'PX', ARGV[2]) end
              epochs[index - 1] = redis.call('GET', KEYS[index])
            end
            return {epochs, {'r', redis.call('HGET', KEYS[1], 'r')}}
            """

        /// Changes the hash, unless there was a removal, or another client has changed the hash in the meantime.
        ///
        /// Arguments: the four epochs; the mark of the last removal; the version of the hash; the new version; the
        /// shortest lifetimes of the hash and of the epochs in milliseconds; the number of names to delete; these
        /// names; the names and values to set. Returns `ok`, `removed` or `conflict`.
        static let write = """
            for index = 2, 5 do
              if (redis.call('GET', KEYS[index]) or '') ~= ARGV[index - 1] then return 'removed' end
            end
            if (redis.call('HGET', KEYS[1], 'r') or '') ~= ARGV[5] then return 'removed' end
            if (redis.call('HGET', KEYS[1], 'v') or '') ~= ARGV[6] then return 'conflict' end
            local count = tonumber(ARGV[10])
            for index = 11, 10 + count do redis.call('HDEL', KEYS[1], ARGV[index]) end
            for index = 11 + count, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1]) end
            redis.call('HSET', KEYS[1], 'v', ARGV[7])
            if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[8]) then redis.call('PEXPIRE', KEYS[1], ARGV[8]) end
            for index = 2, 5 do
              if redis.call('PTTL', KEYS[index]) < tonumber(ARGV[9]) then redis.call('PEXPIRE', KEYS[index], ARGV[9]) end
            end
            return 'ok'
            """

        /// Removes all entries of a URL. Arguments: the mark of the removal, and its lifetime in milliseconds.
        static let removeURL = """
            redis.call('DEL', KEYS[1])
            redis.call('HSET', KEYS[1], 'r', ARGV[1])
            redis.call('PEXPIRE', KEYS[1], ARGV[2])
            return 'ok'
            """

        /// Removes one entry. Arguments: the names of its record and its body, and the new version of the hash.
        static let removeEntry = """
            if redis.call('HDEL', KEYS[1], ARGV[1], ARGV[2]) > 0 then redis.call('HSET', KEYS[1], 'v', ARGV[3]) end
            return 'ok'
            """

        /// Ends a lease, if the caller still holds it. Argument: the mark of the lease.
        static let release = """
            if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
            return 'ok'
            """

        static func command(_ script: String, keys: [String], _ arguments: [RedisCommand.Word]) -> RedisCommand {
            RedisCommand(
                [RedisCommand.Word("EVAL"), RedisCommand.Word(script), RedisCommand.Word(Int64(keys.count))]
                    + keys.map { RedisCommand.Word($0) }
                    + arguments)
        }
    }
#endif
