// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials

    /// Where the machine's power comes from.
    enum PowerSource {
        /// Whether a battery is being discharged, and no mains supply is connected. `false` for machines without a
        /// battery, and where the system does not say it.
        ///
        /// - Parameter folder: has a folder for each supply, with the files `type`, `online` and `status`.
        ///
        /// <https://docs.kernel.org/power/power_supply_class.html>
        static func isBattery(in folder: String = "/sys/class/power_supply") -> Bool {
            // `try?` because a system without this folder says nothing.
            let supplies = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            func text(_ supply: String, _ file: String) -> String? {
                FileManager.default.contents(atPath: "\(folder)/\(supply)/\(file)").map {
                    String(decoding: $0.prefix(64).prefix { $0 != 0x0A }, as: UTF8.self)
                }
            }
            var isDischarging = false
            for supply in supplies {
                switch text(supply, "type") {
                // Batteries of mice and the like have the scope "Device".
                case "Battery" where text(supply, "scope") != "Device":
                    isDischarging = isDischarging || text(supply, "status") == "Discharging"
                case "Mains", "USB": if text(supply, "online") == "1" { return false }
                default: break
                }
            }
            return isDischarging
        }
    }
#endif
